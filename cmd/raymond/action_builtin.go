package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// builtinPrefix begins an input workflow that names a folder of the action's own
// examples, so that one workflow file is all that a repository needs. Its states
// are as trusted as the action's code: they come with the same ref.
const builtinPrefix = "builtin:"

// actionDirVar is how the shim tells in which folder the action lies.
const actionDirVar = "RAYMOND_ACTION_DIR"

var builtinName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

// isBuiltin reports whether the workflow comes with the action.
func (x *action) isBuiltin() bool { return strings.HasPrefix(x.in.Workflow, builtinPrefix) }

// findBuiltin finds a workflow that comes with the action.
func (x *action) findBuiltin() error {
	where, name := "input workflow", strings.TrimPrefix(x.in.Workflow, builtinPrefix)
	dir := x.app.Getenv(actionDirVar)
	if dir == "" {
		return usage(where, fmt.Sprintf("%q: only the Action has workflows of its own", x.in.Workflow), "name a folder")
	}
	all := filepath.Join(dir, "examples")
	names := builtins(all)
	if !builtinName.MatchString(name) || !slices.Contains(names, name) {
		return usage(where, fmt.Sprintf("%q: the action has no such workflow", x.in.Workflow), "it has "+strings.Join(names, ", "))
	}
	x.source = filepath.Join(all, name)
	return nil
}

// builtins are the names of the workflows in a folder.
func builtins(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}
