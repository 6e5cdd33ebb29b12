// Command mutanttest takes one function after the other out of the program, and says
// which are missed by no test of their package. Nothing is written to the checkout: go
// tests each mutant with a changed copy of one file (go help build, -overlay).
//
// It is run from the root of the repository; .ci/mutants does that.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// mutant is a function that does something else.
type mutant struct {
	pkg      string // its folder
	function string // its name, after that of its receiver's type and a dot
	instead  string // statements that are run before its own, and return
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run prints a line for each mutant. Its error says that not all were noticed.
func run(ctx context.Context, patterns []string) error {
	pattern, err := regexp.Compile(strings.Join(patterns, "|"))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "raymond-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	missed := 0
	unfit := map[string]bool{} // packages by whether their tests fail without any change
	for _, m := range mutants {
		if !pattern.MatchString(m.pkg + " " + m.function) {
			continue
		}
		verdict := m.try(ctx, dir, unfit)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if verdict != noticed {
			missed++
		}
		fmt.Printf("%s %s: %s\n", m.pkg, m.function, verdict)
	}
	if missed > 0 {
		return fmt.Errorf("%d of them: no test was seen to notice it", missed)
	}
	return nil
}

// noticed is the verdict on a mutant with which a test fails.
const noticed = "noticed"

// try runs the tests of a mutant's package with it, and says what came of it.
func (m mutant) try(ctx context.Context, dir string, unfit map[string]bool) string {
	if _, tried := unfit[m.pkg]; !tried {
		unfit[m.pkg] = m.test(ctx, "").Run() != nil
	}
	if unfit[m.pkg] {
		return "its tests fail without any change"
	}
	overlay, err := m.overlay(dir)
	if err != nil {
		return err.Error()
	}
	out, err := m.test(ctx, overlay).CombinedOutput()
	switch {
	case err == nil:
		return "NO TEST NOTICES IT"
	case bytes.Contains(out, []byte("[build failed]")):
		return "can't be built\n" + string(out)
	default:
		return noticed
	}
}

func (m mutant) test(ctx context.Context, overlay string) *exec.Cmd {
	return exec.CommandContext(ctx, "go", "test", "-vet=off", "-count=1", "-failfast", "-timeout=3m", "-overlay="+overlay, "./"+m.pkg)
}

// overlay writes the changed file, and what go is to read of it.
func (m mutant) overlay(dir string) (string, error) {
	path, text, err := m.change()
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	changed, overlay := filepath.Join(dir, filepath.Base(path)), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		return "", err
	}
	return overlay, os.WriteFile(changed, text, 0o600)
}

// change returns the file that has the function, and its text with the mutant in it.
func (m mutant) change() (path string, text []byte, err error) {
	paths, err := filepath.Glob(filepath.Join(filepath.FromSlash(m.pkg), "*.go"))
	if err != nil {
		return "", nil, err
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return "", nil, err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
		if err != nil {
			return "", nil, err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && nameOf(f) == m.function {
				// Its own statements stay, so that nothing is unused.
				return path, slices.Insert(text, set.Position(f.Body.Lbrace).Offset+1, []byte(" if true { "+m.instead+" }; ")...), nil
			}
		}
	}
	return "", nil, fmt.Errorf("%s has no function %s", m.pkg, m.function)
}

// nameOf is the name of a function after that of its receiver's type.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	typ := f.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	id, ok := typ.(*ast.Ident)
	if !ok {
		return ""
	}
	return id.Name + "." + f.Name.Name
}
