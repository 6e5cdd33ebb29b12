// Package onecage runs one command in the cage that agents get: "raymond cage --
// COMMAND". Importing it is enough. It does so before the rest of the program is set up,
// which would take longer than all that is done here. Whatever has to be told to
// people, such as what this system can't hold, is left to the program itself.
package onecage

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/places"
	"github.com/raymond-action/raymond-action/internal/cage"
)

func init() {
	if len(os.Args) > 3 && os.Args[1] == "cage" && os.Args[2] == "--" {
		if code, ok := run(os.Args[3:]); ok {
			os.Exit(code)
		}
	}
}

// run runs a command where there is nothing to tell.
func run(argv []string) (code int, ok bool) {
	dir, err := os.Getwd()
	if err != nil {
		return 0, false
	}
	path, err := exec.LookPath(argv[0])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return 0, false
	}
	own, err := places.MakeOwn("")
	if err != nil {
		return 0, false
	}
	defer os.RemoveAll(own)
	plan, err := places.Of(places.Site{Environ: os.Environ(), Dir: dir, Workspace: dir, Own: own})
	if err != nil {
		return 0, false
	}
	p := plan.Files
	p.Network.IsOpen = true
	if len(cage.Lacks(p)) > 0 || places.Unlink(dir) != nil {
		return 0, false
	}
	code, err = cage.New(p).Supervise(cage.Command{Path: path, Args: argv, Env: Overlay(os.Environ(), plan.Env)})
	if err != nil { // the program must not try again: it may have run
		fmt.Fprintf(os.Stderr, "raymond: runtime: %s: %v\n", argv[0], err)
		return codeRuntime, true
	}
	return code, true
}

// codeRuntime is the exit code of the class runtime.
const codeRuntime = 9

// Overlay is an environment with other values of some variables.
func Overlay(environ, with []string) []string {
	names := map[string]bool{}
	for _, kv := range with {
		name, _, _ := strings.Cut(kv, "=")
		names[name] = true
	}
	kept := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return names[name]
	})
	return append(kept, with...)
}
