package sitetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/raymond-action/raymond-action/internal/installtest"
)

// BrokenGit returns a PATH on which there is one git alone, which does what a shell
// script says where it is to pack something. All other programs are where they were.
func BrokenGit(t testing.TB, instead string) (path string) {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := "#!/bin/bash\nfor a; do [ \"$a\" = bundle ] && { " + instead + "; }; done\nexec '" + git + "' \"$@\"\n"
	installtest.WriteProgram(t, filepath.Join(dir, "git"), script)
	for _, from := range filepath.SplitList(os.Getenv("PATH")) {
		entries, _ := os.ReadDir(from)
		for _, e := range entries {
			_ = os.Symlink(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name())) // the first one counts
		}
	}
	return dir
}
