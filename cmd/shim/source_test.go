package shim_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/shim"
)

// scripts returns the JavaScript by name.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	names, err := fs.Glob(shim.Files, "*.js")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, name := range names {
		data, err := fs.ReadFile(shim.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(data)
	}
	return texts
}

func TestShimIsShort(t *testing.T) {
	files, lines := 0, 0
	for _, text := range scripts(t) {
		files++
		lines += strings.Count(text, "\n")
	}
	if files > 3 || lines >= 115 {
		t.Errorf("shim: got %d files of %d lines, want at most 3 and fewer than 115 lines", files, lines)
	}
}

func TestShimDependsOnNothing(t *testing.T) {
	require := regexp.MustCompile(`require\('([^']*)'\)|\bimport\b`)
	for name, text := range scripts(t) {
		for _, m := range require.FindAllStringSubmatch(text, -1) {
			if !strings.HasPrefix(m[1], "node:") && m[1] != "./raymond" {
				t.Errorf("%s: got %s, want modules of node alone", name, m[0])
			}
		}
	}
}

// TestActionMayLieInAnotherProject: a copy below the package.json of a project
// whose JavaScript are modules.
func TestActionMayLieInAnotherProject(t *testing.T) {
	eachNode(t, func(t *testing.T, n node) {
		a := newAction(t)
		a.ship(0o755)
		write(t, filepath.Join(a.dir, "..", "package.json"), `{"type": "module"}`)
		if s := a.run(n, "main.js"); s.status() != 0 {
			t.Errorf("main.js below a package.json of modules: got status %d, want 0\n%s", s.status(), s.stderr.String())
		}
	})
}
