package repotest

import (
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// impure are the files of package state that keep a run on disk. All others of
// protocol and state take values and return values.
var impure = []string{
	"state/file.go", "state/disk.go", "state/history.go", "state/history_read.go", "state/lock.go", "state/alive_unix.go", "state/alive_windows.go", "state/journal.go", "state/sync_unix.go", "state/sync_other.go",
	"state/failpoint_on.go", "state/failpoint_off.go",
}

// effects are what pure files may not import, with everything below it.
var effects = []string{"os", "net", "log", "syscall", "os/exec", "math/rand", "crypto/rand"}

// clock are the functions of package time that depend on when they are called.
var clock = regexp.MustCompile(`^(Now|Since|Until|Sleep|After|AfterFunc|Tick|NewTimer|NewTicker)$`)

// foreignModule returns the entry of modules that an import path belongs to.
func foreignModule(path string, modules []string) string {
	for _, m := range modules {
		if path == m || strings.HasPrefix(path, m+"/") {
			return m
		}
	}
	return ""
}

// isForeign reports whether path is neither ours nor of the standard library.
func isForeign(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return strings.Contains(first, ".") && path != module && !strings.HasPrefix(path, module+"/")
}

func TestLayering(t *testing.T) {
	for pkg, imported := range importsOf(t) {
		allowed, ok := layers[pkg]
		if !ok {
			t.Errorf("package %q is not in the table of layers", pkg)
			continue
		}
		for _, path := range imported {
			inner, ours := strings.CutPrefix(path, module+"/")
			switch {
			case ours && !slices.Contains(strings.Fields(allowed.ours), inner):
				t.Errorf("package %q imports %s, and may import %q", pkg, inner, allowed.ours)
			case isForeign(path) && foreignModule(path, strings.Fields(allowed.foreign)) == "":
				t.Errorf("package %q imports %s, and may import %q", pkg, path, allowed.foreign)
			}
		}
	}
}

// importsOf returns what each package imports, tests aside.
func importsOf(t *testing.T) map[string][]string {
	t.Helper()
	imported := map[string][]string{}
	for _, f := range sources(t) {
		if !f.isTest() {
			imported[f.pkg()] = append(imported[f.pkg()], f.imports()...)
		}
	}
	for pkg := range imported {
		slices.Sort(imported[pkg])
		imported[pkg] = slices.Compact(imported[pkg])
	}
	return imported
}

// isForTests reports whether a package exists for tests only.
func isForTests(pkg string) bool {
	return strings.HasSuffix(pkg, "test") || pkg == "cmd/raymond/internal/stubclaude"
}

// TestArchitectureNamesEveryPackage keeps docs/architecture.md from aging.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	text := readText(t, "docs/architecture.md")
	for pkg := range layers {
		if !strings.Contains(text, "`"+pkg+"`") {
			t.Errorf("docs/architecture.md: got nothing on package %q, want a line", pkg)
		}
	}
}

// TestLayeringHasNoDeadLines keeps the table from allowing what nobody needs.
func TestLayeringHasNoDeadLines(t *testing.T) {
	imported := importsOf(t)
	for pkg, l := range layers {
		used, ok := imported[pkg]
		if !ok {
			t.Errorf("package %q is in the table, but not in the repository", pkg)
		}
		for _, inner := range strings.Fields(l.ours) {
			if !slices.Contains(used, module+"/"+inner) {
				t.Errorf("package %q may import %s, but doesn't", pkg, inner)
			}
		}
		for _, m := range strings.Fields(l.foreign) {
			if !slices.ContainsFunc(used, func(p string) bool { return foreignModule(p, []string{m}) != "" }) {
				t.Errorf("package %q may import %s, but doesn't", pkg, m)
			}
		}
	}
}

func TestPureFilesHaveNoEffects(t *testing.T) {
	for _, f := range sources(t) {
		pure := (f.pkg() == "protocol" || f.pkg() == "state") && !f.isTest() && !slices.Contains(impure, f.name)
		if !pure {
			continue
		}
		for _, path := range f.imports() {
			if m := foreignModule(path, effects); m != "" {
				t.Errorf("%s imports %s, and should be a pure function of its arguments", f.name, path)
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && isName(sel.X, "time") && clock.MatchString(sel.Sel.Name) {
				t.Errorf("%s: time.%s: time comes in as an argument here", f.fset.Position(sel.Pos()), sel.Sel.Name)
			}
			return true
		})
	}
}

// TestTestModulesStayInTests also holds for packages that exist for tests only.
func TestTestModulesStayInTests(t *testing.T) {
	for _, f := range sources(t) {
		for _, path := range f.imports() {
			forTests := path == "testing" || strings.HasSuffix(path, "test") && strings.HasPrefix(path, module) ||
				foreignModule(path, testModules) != ""
			if forTests && !f.isTest() && !isForTests(f.pkg()) {
				t.Errorf("%s imports %s, which is for tests", f.name, path)
			}
			if f.isTest() && isForeign(path) && foreignModule(path, slices.Concat(testModules, foreignModules())) == "" {
				t.Errorf("%s imports %s, which no table allows", f.name, path)
			}
		}
	}
}

// foreignModules are the modules that some package may import.
func foreignModules() []string {
	var all []string
	for _, l := range layers {
		all = append(all, strings.Fields(l.foreign)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestEveryModuleIsAccountedFor compares go.mod and docs/dependencies.md, which
// has a line with a reason for each module.
func TestEveryModuleIsAccountedFor(t *testing.T) {
	required := required(t, "go.mod")
	described := described(t, "docs/dependencies.md")
	for _, m := range required {
		if len(strings.Fields(described[m])) < 5 {
			t.Errorf("docs/dependencies.md says of %s: got %q, want a sentence", m, described[m])
		}
	}
	for m := range described {
		if !slices.Contains(required, m) {
			t.Errorf("docs/dependencies.md describes %s, which go.mod does not require", m)
		}
	}
	for _, m := range slices.Concat(foreignModules(), testModules) {
		if !slices.Contains(required, m) {
			t.Errorf("modules of go.mod: got %q, want %s among them", required, m)
		}
	}
}

// required returns the modules that a go.mod file requires.
func required(t *testing.T, path string) []string {
	t.Helper()
	requirement := regexp.MustCompile(`^(?:require)?\s+(\S+\.\S+/\S+) v\S+`)
	var modules []string
	for _, line := range textLines(t, path) {
		if m := requirement.FindStringSubmatch(line); m != nil {
			modules = append(modules, m[1])
		}
	}
	return modules
}

// described returns what a list of modules says of each.
func described(t *testing.T, path string) map[string]string {
	t.Helper()
	item := regexp.MustCompile("^\\| `([^`]+/[^`]+)` \\| (.*) \\|$")
	modules := map[string]string{}
	for _, line := range textLines(t, path) {
		if m := item.FindStringSubmatch(line); m != nil {
			modules[m[1]] = m[2]
		}
	}
	if len(modules) == 0 {
		t.Fatalf("%s: got no modules, want a table of them (%q)", path, slices.Collect(maps.Keys(modules)))
	}
	return modules
}
