package protocol

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// wantNames holds a table to the names that the code knows, each with a sentence.
func wantNames(t *testing.T, what string, table []Key, known []string) {
	t.Helper()
	var names []string
	for _, k := range table {
		names = append(names, k.Name)
		if len(strings.Fields(k.Meaning)) < 3 || strings.Contains(k.Meaning, "|") || strings.HasSuffix(k.Meaning, ".") {
			t.Errorf("%s %s: got the meaning %q, want a sentence that fits into a table", what, k.Name, k.Meaning)
		}
	}
	slices.Sort(names)
	want := slices.Compact(slices.Sorted(slices.Values(known)))
	if !slices.Equal(names, want) {
		t.Errorf("%s: got %q in the table, want those that the code knows, each once: %q", what, names, want)
	}
}

// TestKeysAreDescribed: no key without a description, and none described that
// does not exist.
func TestKeysAreDescribed(t *testing.T) {
	read := slices.Concat(slices.Collect(maps.Keys(invocationKeys)), slices.Collect(maps.Keys(transitionKeys)), slices.Collect(maps.Keys(convergenceKeys)), slices.Collect(maps.Keys(placeKeys)), slices.Collect(maps.Keys(schemaKeys)))
	wantNames(t, "frontmatter key", Keys(), read)
	wantNames(t, "key of an entry", EntryKeys(), ruleKeys)
	wantNames(t, "option of scripts", ScriptOptions(), scriptOptions)
	for _, k := range BackoffKeys() {
		s := newState("A.md")
		s.parse([]byte("---\ndone_when: x\nbackoff: {" + k.Name + ": 1s}\n---\ngo\n"))
		if len(s.Problems) > 0 {
			t.Errorf("backoff with %s: got %v, want no problem", k.Name, s.Problems)
		}
	}
}

// notLint are the files whose problems are those of an agent's message.
var notLint = []string{"decide.go", "reminder.go"}

// codeArgument has the functions that are given a code, and which argument it is.
var codeArgument = map[string]int{"addProblem": 1, "addWarning": 1, "problem": 0}

// TestCodesAreDescribed finds the codes in the source: those after Code: and those
// that functions are given.
func TestCodesAreDescribed(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := []string{"syntax"} // of the program, which has bash read the scripts
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") || slices.Contains(notLint, path) {
			continue
		}
		tree, err := parser.ParseFile(gotoken.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			codes = append(codes, codesIn(n)...)
			return true
		})
	}
	wantNames(t, "lint code", Codes(), codes)
}

func codesIn(n ast.Node) []string {
	var at ast.Expr
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if id, ok := n.Key.(*ast.Ident); ok && id.Name == "Code" {
			at = n.Value
		}
	case *ast.CallExpr:
		f, ok := n.Fun.(*ast.SelectorExpr)
		if !ok {
			break
		}
		if i, ok := codeArgument[f.Sel.Name]; ok && i < len(n.Args) {
			at = n.Args[i]
		}
	}
	if lit, ok := at.(*ast.BasicLit); ok && lit.Kind == gotoken.STRING {
		code, _ := strconv.Unquote(lit.Value)
		return []string{code}
	}
	return nil
}
