package repotest

import (
	"go/ast"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const securityPage = ".github/SECURITY.md"

// named is a test that the table of attacks names, with its package when that is told:
// `runner/claude`: `TestOne`, `TestTwo`.
var named = regexp.MustCompile("`([a-zA-Z0-9_/.-]+)`: |`((?:Test|Fuzz)\\w+)`")

// TestEachAttackIsATest: each row of the table of attacks names tests that there are, in
// the packages that it says.
func TestEachAttackIsATest(t *testing.T) {
	t.Parallel()
	there := map[string][]string{} // the packages of each test
	for _, f := range sources(t) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.isTest() && fn.Recv == nil {
				there[fn.Name.Name] = append(there[fn.Name.Name], f.pkg())
			}
		}
	}
	rows := 0
	for _, line := range textLines(t, securityPage) {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| ") || cells[0] == "| Attacker" || strings.HasPrefix(line, "| ---") {
			continue
		}
		if len(cells) != 4 {
			t.Errorf("%s: got %d cells, want attacker, aim, barrier and test in\n%s", securityPage, len(cells), line)
			continue
		}
		rows++
		pkg, tests := "", 0
		for _, m := range named.FindAllStringSubmatch(cells[3], -1) {
			if m[1] != "" {
				pkg = m[1]
				continue
			}
			tests++
			in := func(p string) bool { return pkg == "" || p == pkg || strings.HasSuffix(p, "/"+pkg) }
			if !slices.ContainsFunc(there[m[2]], in) {
				t.Errorf("%s: got no test %s in package %q, but in %q", securityPage, m[2], pkg, there[m[2]])
			}
		}
		if tests == 0 {
			t.Errorf("%s: got no test in the row\n%s", securityPage, line)
		}
	}
	if rows < 40 {
		t.Errorf("%s: got %d attacks, want at least 40", securityPage, rows)
	}
}

// caches are how a job keeps files for later ones, where any other job of the repository
// can put its own in their place.
var caches = regexp.MustCompile(`uses: actions/cache|ACTIONS_CACHE_URL|ActionsCache|_apis/artifactcache`)

// TestNothingIsKeptInCaches: neither the action nor a workflow of the examples restores
// from a cache of the repository.
func TestNothingIsKeptInCaches(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"the program and the shim": ownSource(t), "action.yml": readText(t, "action.yml")}
	err := filepath.WalkDir(at("examples"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".yml") {
			rel, relErr := filepath.Rel(root, path)
			texts[rel], err = readText(t, filepath.ToSlash(rel)), relErr
		}
		return err
	})
	if err != nil || len(texts) < 6 {
		t.Fatalf("files: got %d (%v), want at least 6", len(texts), err)
	}
	for name, text := range texts {
		if found := caches.FindString(text); found != "" {
			t.Errorf("%s: got %q in it, want no cache", name, found)
		}
	}
}
