package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// small is a module of one function, which a test looks at in part.
var small = map[string]string{
	"go.mod":    "module small\n\ngo 1.26\n",
	"s.go":      "package small\n\nfunc sign(n int) int {\n\tif n < 0 {\n\t\treturn -1\n\t}\n\treturn 1\n}\n",
	"s_test.go": "package small\n\nimport \"testing\"\n\nfunc TestSign(t *testing.T) {\n\tif sign(-2) != -1 {\n\t\tt.Error(\"want -1\")\n\t}\n}\n",
}

const smallTable = `# of small
mutant seen: it is noticed
tests . TestSign
in s.go
- 	if n < 0 {
- 		return -1
+ 	if n < 0 {
+ 		return -2

mutant unseen: it is not noticed
tests . TestSign
in s.go
- 	return 1
- }
+ 	return 2
+ }

mutant broken: it can't be built
tests . TestSign
in s.go
- -1
+ nothing

mutant gone: its text is gone
tests . TestSign
in s.go
- n > 0
`

// TestVerdicts: a mutant is caught when a test fails, and in no other case.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range small {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mutants, err := parse(smallTable)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = tryAll(t.Context(), &out, trial{root: root, temp: t.TempDir()}, mutants)
	if err == nil || err.Error() != "3 mutants were not caught" {
		t.Errorf("error: got %v, want one about 3 mutants", err)
	}
	for _, want := range []string{`(?m)^caught +seen .*TestSign$`, `(?m)^NOT CAUGHT +unseen `, `(?m)^INVALID +broken .*can't be built`, `(?m)^INVALID +gone .*0 times`, `caught 1 of 4`} {
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("what is printed: got\n%s\nwant %s in it", &out, want)
		}
	}
	if now, err := os.ReadFile(filepath.Join(root, "s.go")); err != nil || string(now) != small["s.go"] {
		t.Errorf("source after the trials: got %q (%v), want it as it was", now, err)
	}
	mutants[0].tests[0].names = []string{"TestNone"}
	out.Reset()
	if err := tryAll(t.Context(), &out, trial{root: root, temp: t.TempDir()}, mutants[:1]); err == nil || !strings.Contains(out.String(), "no test of .") {
		t.Errorf("mutant with a test that isn't there: got %v and\n%s\nwant an error, and the reason", err, &out)
	}
}

// TestTablesThatAreWrong are refused with their line.
func TestTablesThatAreWrong(t *testing.T) {
	t.Parallel()
	for table, want := range map[string]string{
		"tests . TestA":                         "line 1: the first line",
		"mutant A: b":                           "line 1: \"A: b\" is not",
		"mutant a: b\n":                         "mutant a: it needs",
		"mutant a: b\ntests . T\n":              "mutant a: it needs",
		"mutant a: b\ntests . T\nin f\n+ x\n":   "line 4: a text needs",
		"mutant a: b\ntests . T\n- x\n+ y\n":    "line 3: a text needs",
		"mutant a: b\nin f\n- x\n":              "mutant a: it needs",
		"mutant a: b\ntests . T\nfile f\n- x\n": "line 3: \"file\" is none of",
	} {
		if got, err := parse(table); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("table %q: got %+v, %v, want an error that begins with %q", table, got, err, want)
		}
	}
}
