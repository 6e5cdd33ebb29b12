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
		data, _, _ := files.Read(filepath.Join(c.bare, "objects", "info", "alternates"), maxConfig)
		for line := range strings.Lines(string(data)) {
			if path, err := strconv.Unquote(strings.TrimSpace(line)); err == nil {
				read = append(read, path)
			}
		}
	}
	if p := t.places[c.dir]; p != nil {
		write = append(write, p.top, p.gitDir, p.home.dir)
	}
	return cage.New(cage.Policy{Readable: read, Writable: write})
}
