package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"

	"github.com/raymond-action/raymond-action/examples"
)

// builtinPrefix begins an input workflow that names an example. The program holds
// them, so that one workflow file is all that a repository needs, and their states
// are as trusted as the program.
const builtinPrefix = "builtin:"

// isBuiltin reports whether the workflow comes with the program.
func (x *action) isBuiltin() bool { return strings.HasPrefix(x.in.Workflow, builtinPrefix) }

// findBuiltin unpacks a workflow that comes with the program.
func (x *action) findBuiltin() error {
	name, names := strings.TrimPrefix(x.in.Workflow, builtinPrefix), builtins()
	if !slices.Contains(names, name) {
		return problem.Usage("input workflow", fmt.Sprintf("%q: there is no such workflow in the action", x.in.Workflow), "it has "+strings.Join(names, ", "))
	}
	files, err := fs.Sub(examples.Files, name)
	if err != nil {
		return err
	}
	x.source = filepath.Join(x.own, "builtin", name)
	if err := errors.Join(os.RemoveAll(x.source), os.CopyFS(x.source, files)); err != nil {
		return &problem.Problem{Class: problem.ClassRuntime, Where: "input workflow", What: err.Error()}
	}
	return nil
}

// shown is a text as people may see it: without secrets, and without the path to
// which a workflow of the action was unpacked, which means nothing to anybody.
func (x *action) shown(text string) string {
	text = x.mask.Text(text)
	if !x.isBuiltin() || x.source == "" || !strings.Contains(text, x.own) {
		return text
	}
	copied := filepath.Join(x.dir, x.note.WorkflowID, "scope") // what a run works with
	return strings.NewReplacer(x.source, x.in.Workflow, copied, x.in.Workflow, filepath.Join(x.dir, "scope"), x.in.Workflow).Replace(text)
}

// builtins are the names of the workflows that come with the program.
func builtins() []string {
	entries, _ := examples.Files.ReadDir(".") // never fails
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
