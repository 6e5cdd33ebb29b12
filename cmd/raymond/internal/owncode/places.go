package owncode

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// places say where the code is.
type places struct {
	program string
	action  string // the action's own folder; "" without JavaScript
	shim    string // below it
	isBuilt bool   // the program is built from the action's sources at each start
}

// builtPrefix begins the name of the folder that the JavaScript builds the program in.
const builtPrefix = "raymond-build-"

func newPlaces(program, shim string) places {
	p := places{program: program}
	if shim == "" {
		return p
	}
	p.shim, p.action = shim, filepath.Dir(filepath.Dir(shim))
	p.isBuilt = strings.HasPrefix(filepath.Base(filepath.Dir(program)), builtPrefix)
	return p
}

// list names what is to stay as it is, but for the program: the files at the action's
// top that decide what is started, all that is beside the JavaScript, and the sources.
func (p places) list() ([]string, error) {
	if p.action == "" {
		return nil, nil
	}
	var paths []string
	for _, name := range []string{"action.yml", "action.yaml", "Dockerfile", "package.json", "go.mod", "go.sum"} {
		path := filepath.Join(p.action, name)
		if _, err := os.Lstat(path); err == nil {
			paths = append(paths, path)
		}
	}
	beside, err := p.walk(p.shim)
	if err != nil || !p.isBuilt {
		return append(paths, beside...), err
	}
	sources, err := p.sources()
	return append(paths, sources...), err
}

// sources are all files in the folders at the action's top that are not hidden: what
// is compiled, and what is embedded.
func (p places) sources() ([]string, error) {
	top, err := entries(p.action)
	var paths []string
	for _, d := range top {
		if !d.IsDir() || isHidden(d.Name()) {
			continue
		}
		found, walkErr := p.walk(filepath.Join(p.action, d.Name()))
		paths, err = append(paths, found...), errors.Join(err, walkErr)
	}
	return paths, err
}

// isHidden reports whether the go command passes a folder over.
func isHidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

// walk names the files in a folder and below. The program itself, which is remembered
// apart, and shipped programs that are not run are not among them.
func (p places) walk(dir string) ([]string, error) {
	list, err := entries(dir)
	var paths []string
	for _, d := range list {
		path := filepath.Join(dir, d.Name())
		switch {
		case d.IsDir():
			below, walkErr := p.walk(path)
			paths, err = append(paths, below...), errors.Join(err, walkErr)
		case path != p.program && !p.isIdle(path):
			paths = append(paths, path)
		}
		if len(paths) > maxFiles {
			return paths, errTooMany(dir)
		}
	}
	return paths, err
}

// isIdle reports whether a path is a shipped program that is not run: one for another
// kind of machine, or any where the runner's owner has chosen a program. Where the
// program is built, one that appears would be run in its place.
func (p places) isIdle(path string) bool {
	name := "raymond-" + runtime.GOOS + "-" + runtime.GOARCH
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Dir(path) == filepath.Join(p.shim, "bin") && (!p.isBuilt || filepath.Base(path) != name)
}

// maxFiles bounds how many files are looked at: what agents add may be endless.
const maxFiles = 20_000

func errTooMany(dir string) error { return fmt.Errorf("%s has more than %d files", dir, maxFiles) }

// entries lists a folder, which may be as full as an agent can make it.
func entries(dir string) ([]fs.DirEntry, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.ReadDir(maxFiles + 1)
	switch {
	case errors.Is(err, io.EOF):
		err = nil
	case len(list) > maxFiles:
		err = errTooMany(dir)
	}
	return list, err
}
