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

// caVariables are the environment variables that name files or directories with the certificates of
// certificate authorities.
var caVariables = []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"}

// cageFor returns the cage for the git process of a call. It returns nil if git runs without a cage. The
// call's location must be in t.locations already.
func (t *tool) cageFor(c call) *cage.Cage {
	if !t.caged {
		return nil
	}
	read, write := slices.Clone(t.reads), []string{t.temp, os.DevNull, c.dir}
	if c.remote != "" {
		for _, name := range caVariables {
			read = append(read, Getenv(t.env, name))
		}
		read = append(read, strings.TrimPrefix(c.remote, "file://")) // path of a remote repository on this machine
		return cage.New(cage.Policy{Readable: read, Writable: write, Network: cage.Network{IsOpen: true}})
	}
	for dir := range t.views {
		read = append(read, dir)
	}
	for _, p := range t.locations {
		read = append(read, p.top, p.gitDir)
	}
	if c.bare != "" {
		write = append(write, c.bare)
	}
	if h := t.views[c.bare]; h != nil && h.isOurs {
		data, _, _ := files.Read(filepath.Join(c.bare, "objects", "info", "alternates"), maxConfig)
		for line := range strings.Lines(string(data)) {
			if path, err := strconv.Unquote(strings.TrimSpace(line)); err == nil {
				read = append(read, path)
			}
		}
	}
	if p := t.locations[c.dir]; p != nil {
		write = append(write, p.top, p.gitDir, p.view.dir)
	}
	return cage.New(cage.Policy{Readable: read, Writable: write})
}
