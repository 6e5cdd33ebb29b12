package examples

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// setUpGo is the step that installs Go before a step that uses the action at a commit. Commits contain no binary, so the
// action must be compiled.
const setUpGo = `      - uses: actions/setup-go@44694675825211faa026b3c33043df3e48a5fa00 # v6.0.0
        with: {go-version: "1.26", cache: false}
`

// released is the reference to the action in the workflow files of the examples.
const released = "uses: raymond-action/raymond-action@v1"

var (
	step = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^      - (?:.+\n        )??` + regexp.QuoteMeta(released) + `$`)
	})
	isTag    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^v\d+(\.\d+\.\d+)?$`) })
	copyThis = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^# Copy this file to \S+?\.yml(?:\. | and |, )(.)`) })
	comesAs  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^ *# The states that come with the action\..*\n(?: *#.*\n)*`)
	})
)

// At returns a workflow file whose steps use the action at a reference. Release tags contain a binary for each platform.
// For any other reference, At adds a step that sets up Go, which compiles the program.
func At(workflow []byte, ref string) []byte {
	return step().ReplaceAllFunc(workflow, func(use []byte) []byte {
		use = bytes.Replace(use, []byte(released), []byte(strings.TrimSuffix(released, "v1")+ref), 1)
		if !isTag().MatchString(ref) {
			use = append([]byte(setUpGo), use...)
		}
		return use
	})
}

// Names returns the names of the examples that have a workflow file.
func Names() (names []string) {
	files, _ := fs.Glob(Files, "*/workflow.yml") // the pattern is well-formed
	for _, file := range files {
		names = append(names, path.Dir(file))
	}
	return names
}

// InRepository returns the files of an example for a user's repository, by path: the workflow file, which uses the action at
// the reference ref, and the states with their replies files, which users can edit there. If Names doesn't return the name,
// the error is fs.ErrNotExist.
func InRepository(name, ref string) (map[string][]byte, error) {
	if !slices.Contains(Names(), name) {
		return nil, fs.ErrNotExist
	}
	workflow, err := fs.ReadFile(Files, name+"/workflow.yml")
	states := ".github/raymond/" + name
	workflow = copyThis().ReplaceAllFunc(workflow, func(begin []byte) []byte {
		return append([]byte("# "), bytes.ToUpper(begin[len(begin)-1:])...)
	})
	workflow = comesAs().ReplaceAll(workflow, nil)
	workflow = bytes.ReplaceAll(workflow, []byte("workflow: builtin:"+name), []byte("workflow: "+states))
	all := map[string][]byte{".github/workflows/" + name + ".yml": At(workflow, ref)}
	entries, more := fs.ReadDir(Files, name)
	for _, e := range entries {
		if e.IsDir() || e.Name() == "workflow.yml" || e.Name() == "README.md" {
			continue
		}
		data, err := fs.ReadFile(Files, name+"/"+e.Name())
		all[states+"/"+e.Name()], more = data, errors.Join(more, err)
	}
	return all, errors.Join(err, more)
}
