package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// readBy are the files that a git program needs, wherever it works: those of the machine, and its own. The
// list of name servers is often a link out of the machine's folders.
func readBy(program string, environ []string) []string {
	all := append(cage.System(), "/etc/resolv.conf", Getenv(environ, "GIT_EXEC_PATH"))
	for _, path := range []string{program, resolved(program)} {
		dir := filepath.Dir(path)
		all = append(all, dir)
		if filepath.Base(dir) == "bin" {
			for _, name := range []string{"lib", "libexec", "share"} {
				all = append(all, filepath.Join(filepath.Dir(dir), name))
			}
		}
	}
	return all
}

// authorities are the variables that name files with the certificates of those who vouch for servers.
var authorities = []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"}

// cageFor is the cage for a call; nil for none. Places were looked up before.
func (t *tool) cageFor(c call) *cage.Cage {
	if !t.caged {
		return nil
	}
	read, write := slices.Clone(t.reads), []string{t.temp, os.DevNull, c.dir}
	if c.remote != "" {
		for _, name := range authorities {
			read = append(read, Getenv(t.env, name))
		}
		read = append(read, strings.TrimPrefix(c.remote, "file://")) // of one on this machine
		return cage.New(cage.Policy{Readable: read, Writable: write, Network: cage.Network{IsOpen: true}})
	}
	for dir := range t.homes {
		read = append(read, dir)
	}
	for _, p := range t.places {
		read = append(read, p.top, p.gitDir)
	}
	if c.bare != "" {
		write = append(write, c.bare)
	}
	if h := t.homes[c.bare]; h != nil && h.isOurs {
		read = append(read, borrowed(c.bare)...)
	}
	if p := t.places[c.dir]; p != nil {
		write = append(write, p.top, p.gitDir, p.home.dir)
	}
	return cage.New(cage.Policy{Readable: read, Writable: write})
}

// borrowed are the folders of objects that a repository of ours borrows. What those of agents borrow is not
// followed: it may be of any repository on the machine.
func borrowed(dir string) []string {
	data, _, _ := files.Read(filepath.Join(dir, "objects", "info", "alternates"), maxConfig)
	var all []string
	for line := range strings.Lines(string(data)) {
		if path, err := strconv.Unquote(strings.TrimSpace(line)); err == nil {
			all = append(all, path)
		}
	}
	return all
}
