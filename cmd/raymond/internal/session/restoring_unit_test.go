package session

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

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/runner"
)

// lister is a backend that sees what the copy holds when it runs.
type lister struct {
	dir  string
	seen map[string]string // rights and contents
}

func (l *lister) Run(context.Context, runner.Order, func(runner.Progress)) (runner.Answer, error) {
	l.seen = map[string]string{}
	err := filepath.WalkDir(l.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var data []byte
		if info.Mode().IsRegular() && info.Size() < 1<<10 {
			data, err = os.ReadFile(path)
		}
		l.seen[strings.TrimPrefix(path, l.dir)] = info.Mode().String() + " " + string(data)
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
		"a pipe":            "rm -f A.sh && mkfifo A.sh",
		"a huge file":       "rm -f A.sh && truncate -s 64G A.sh",
		"rights of a file":  "chmod 000 A.sh",
		"no rights at all":  "chmod 000 lib",
		"everything":        `d=$PWD; cd ..; rm -rf "$d"`,
		"the whole folder":  `d=$PWD; cd ..; mv "$d" moved; mkdir elsewhere; echo evil >elsewhere/A.sh; ln -s elsewhere "$d"`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "scope")
			files := fstest.MapFS{"A.sh": {Data: []byte("first\n"), Mode: 0o755}, "lib/b.mjs": {Data: []byte("second\n"), Mode: 0o644}}
			if err := (&scope.Scope{FS: files}).PrivateCopy(dir); err != nil {
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
			want := map[string]string{"": "drwx------ ", "/A.sh": "-r-xr-xr-x first\n", "/lib": "drwx------ ", "/lib/b.mjs": "-r--r--r-- second\n"}
			if diff := cmp.Diff(want, l.seen); diff != "" {
				t.Errorf("%s: files of the copy (-want +got):\n%s", change, diff)
			}
			if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
				t.Errorf("%s: got the copy %v (%v), want a folder", change, info, err)
			}
		})
	}
}
