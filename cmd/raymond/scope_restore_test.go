package main

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/runner"
)

// lister is a backend that sees what the copy holds when it runs.
type lister struct {
	dir  string
	seen map[string]string
}

func (l *lister) Run(context.Context, runner.Order, func(runner.Progress)) (runner.Answer, error) {
	l.seen = map[string]string{}
	err := filepath.WalkDir(l.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		l.seen[strings.TrimPrefix(path, l.dir+"/")] = d.Type().String() + " " + string(data)
		return err
	})
	return runner.Answer{}, err
}

// TestScriptsAreWhatTheyWere when the run began, whatever an agent has done to their
// private copy.
func TestScriptsAreWhatTheyWere(t *testing.T) {
	for name, change := range map[string]string{
		"nothing":           "true",
		"a script":          "chmod u+w A.sh && echo evil >A.sh",
		"to the same size":  "chmod u+w A.sh && printf X | dd of=A.sh conv=notrunc status=none",
		"a helper":          "rm -f lib/b.mjs && echo evil >lib/b.mjs",
		"a new file":        "echo evil >lib/package.json; mkdir new; echo evil >new/x",
		"a missing file":    "rm -rf lib A.sh",
		"a link to a file":  "echo evil >../evil && ln -sf ../evil A.sh",
		"a link to a place": "mkdir ../other && echo evil >../other/b.mjs && rm -rf lib && ln -s ../other lib",
		"a folder":          "rm -f A.sh && mkdir -p A.sh/x",
		"a file":            "rm -rf lib && echo evil >lib",
		"everything":        `d=$PWD; cd ..; rm -rf "$d"`,
		"the whole folder":  `d=$PWD; cd ..; mv "$d" moved; mkdir elsewhere; echo evil >elsewhere/A.sh; ln -s elsewhere "$d"`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "scope")
			files := fstest.MapFS{"A.sh": {Data: []byte("first\n")}, "lib/b.mjs": {Data: []byte("second\n")}}
			if err := (&scope{fsys: files}).privateCopy(dir); err != nil {
				t.Fatal(err)
			}
			l := &lister{dir: dir}
			r, err := newRestoring(l, dir)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("/bin/bash", "-c", change)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", change, err, out)
			}
			if _, err := r.Run(t.Context(), runner.Order{}, nil); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"A.sh": "---------- first\n", "lib/b.mjs": "---------- second\n"}
			if diff := cmp.Diff(want, l.seen); diff != "" {
				t.Errorf("%s: files of the copy (-want +got):\n%s", change, diff)
			}
			if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
				t.Errorf("%s: got the copy %v (%v), want a folder", change, info, err)
			}
		})
	}
}
