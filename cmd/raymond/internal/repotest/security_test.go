package repotest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

const securityPage = ".github/SECURITY.md"

// testName matches a test in the table of attacks, with its package if the table names it:
// `runner/claude`: `TestOne`, `TestTwo`.
var testName = regexp.MustCompile("`([a-zA-Z0-9_/.-]+)`: |`((?:Test|Fuzz)\\w+)`")

var declared = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

// TestEachAttackHasATest checks that each row of the table of attacks names tests that exist in the packages
// of the row.
func TestEachAttackHasATest(t *testing.T) {
	t.Parallel()
	there := map[string][]string{} // the packages of each test
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		data, err := os.ReadFile(name)
		for _, m := range declared.FindAllSubmatch(data, -1) {
			pkg, _ := filepath.Rel(root, filepath.Dir(name))
			there[string(m[1])] = append(there[string(m[1])], filepath.ToSlash(pkg))
		}
		return err
	})
	assert.NilError(t, err)
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
		for _, m := range testName.FindAllStringSubmatch(cells[3], -1) {
			if m[1] != "" {
				pkg = m[1]
				continue
			}
			tests++
			in := func(p string) bool { return pkg == "" || p == pkg || strings.HasSuffix(p, "/"+pkg) }
			assert.Check(t, slices.ContainsFunc(there[m[2]], in), "%s: got no test %s in package %q, but in %q", securityPage, m[2], pkg, there[m[2]])
		}
		assert.Check(t, tests != 0, "%s: got no test in the row\n%s", securityPage, line)
	}
	assert.Check(t, rows >= 40, "%s: got %d attacks, want at least 40", securityPage, rows)
}
