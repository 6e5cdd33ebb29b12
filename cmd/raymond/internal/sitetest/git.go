package sitetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/internal/installtest"
)

// BrokenGit returns a PATH on which there is one git alone, which does what a shell
// script says where it is to pack something; "": there is none. All other programs are where they were.
func BrokenGit(t testing.TB, instead string) (path string) {
	t.Helper()
	git, err := exec.LookPath("git")
	assert.NilError(t, err)
	dir := t.TempDir()
	names := map[string]bool{"git": true}
	script := "#!/bin/bash\nfor a; do [ \"$a\" = bundle ] && { " + instead + "; }; done\nexec '" + git + "' \"$@\"\n"
	if instead != "" {
		installtest.WriteProgram(t, filepath.Join(dir, "git"), script)
	}
	for _, from := range filepath.SplitList(os.Getenv("PATH")) {
		entries, _ := os.ReadDir(from)
		for _, e := range entries {
			if !names[e.Name()] { // the first one counts
				_ = os.Symlink(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name()))
			}
			names[e.Name()] = true
		}
	}
	return dir
}
