package program

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner"
)

// TestVersionCheckIsConfined checks that the version check runs in the cage. An agent may have put
// another program with the CLI's name on PATH.
func TestVersionCheckIsConfined(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "settings"), nil, 0o600))
	path := filepath.Join(bin, "cli")
	installtest.WriteProgram(t, path, "#!/bin/sh\n[ -e settings ] && exit 3; echo x >\"$OUT\" && exit 4; echo \"$HOME\" 1>&2; [ \"$HOME\" = /of/the/run ] && echo 1.2.3\n")
	o := runner.Order{Dir: dir, Mark: "m.1", Env: []string{"HOME=/of/the/run"}}
	o.Cage = cage.New(cage.Policy{Readable: append(cage.SystemPaths(), bin), Writable: []string{os.DevNull}, Network: cage.Network{IsOpen: true}})
	s := Source{Title: "CLI", Name: path, Env: []string{"PATH=/usr/bin:/bin", "HOME=/of/the/user", "OUT=" + filepath.Join(bin, "out")}}
	var c CLI
	if found, fail := c.Find(t.Context(), s, o, func(string) {}); fail != nil || found.Version != (Version{1, 2, 3}) {
		t.Errorf("got %v, %v, want version 1.2.3", found, fail)
	}
}
