package sitetest

import (
	"os"
	"path/filepath"
	"testing"
)

// BrokenGit returns a PATH with a git that does what a shell script says where it is to
// pack something.
func BrokenGit(t testing.TB, instead string) (path string) {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/bash\nfor a; do [ \"$a\" = bundle ] && { " + instead + "; }; done\nPATH=${PATH#*:} exec git \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir + ":" + os.Getenv("PATH")
}
