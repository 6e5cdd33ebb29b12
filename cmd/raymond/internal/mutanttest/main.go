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
	for _, m := range mutants {
		if !pattern.MatchString(m.pkg + " " + m.function) {
			continue
		}
		verdict, err := m.try(ctx, dir)
		if err != nil {
			return err
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

// try runs the tests of a mutant's package with it, and says what came of it. They have to pass
// without it, which CI shows.
func (m mutant) try(ctx context.Context, dir string) (string, error) {
	overlay, err := m.overlay(dir)
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "go", "test", "-vet=off", "-count=1", "-failfast", "-timeout=3m", "-overlay="+overlay, "./"+m.pkg).CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err == nil:
		return "NO TEST NOTICES IT", nil
	case bytes.Contains(out, []byte("[build failed]")):
		return "can't be built\n" + string(out), nil
	}
	return noticed, nil
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

// change returns the file that has the function, and its text with the mutant in it. The
// function's own statements stay, so that nothing is unused.
func (m mutant) change() (path string, text []byte, err error) {
	receiver, name, isMethod := strings.Cut(m.function, ".")
	head := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(receiver) + `\(.*\{`)
	if isMethod {
		head = regexp.MustCompile(`(?m)^func \((?:\w+ )?\*?` + receiver + `\) ` + name + `\(.*\{`)
	}
	paths, err := filepath.Glob(filepath.Join(filepath.FromSlash(m.pkg), "*.go"))
	if err != nil {
		return "", nil, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", nil, err
		}
		if at := head.FindIndex(text); at != nil && !strings.HasSuffix(path, "_test.go") {
			return path, slices.Insert(text, at[1], []byte(" if true { "+m.instead+" };")...), nil
		}
	}
	return "", nil, fmt.Errorf("%s has no function %s", m.pkg, m.function)
}
