//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/internal/measuretest"
)

// The variables by which .ci/bench names the programs that raymond is compared with:
// an earlier version of it and the reference, or why that can't be had.
const (
	earlierVar   = "RAYMOND_BENCH_EARLIER"
	referenceVar = "RAYMOND_REFERENCE"
	missingVar   = "RAYMOND_REFERENCE_MISSING"
)

// job is a workflow in the folder wf that several programs can run. Its scripts
// begin with counted.
type job struct {
	files   map[string]string
	args    []string // flags of raymond
	env     []string // added to the environment; $DIR is the folder of the job
	scripts int      // how many scripts and agents are started
}

// counted is the first line of a script: in a trial, it leaves a line in a file.
const counted = "[ ! -e trial ] || echo >>trial\n"

// dispatcher is a script that forks n workers, one in each of its executions.
func dispatcher(n int, worker string) string {
	return fmt.Sprintf(`read -r n <count
echo $((n+1)) >count
if [ "$n" -lt %d ]; then echo "<fork next=\"START.sh\" item=\"$n\">%s</fork>"; else echo '<result>end</result>'; fi
`, n, worker)
}

// compare compares raymond with the reference and with an earlier version, in a
// benchmark each. One that can't be had, or that doesn't do the job, is skipped.
func compare(b *testing.B, j job) {
	b.Run("reference", func(b *testing.B) {
		path := os.Getenv(referenceVar)
		if path == "" {
			b.Skip("not to be had: " + cmp.Or(os.Getenv(missingVar), referenceVar+" is not set"))
		}
		against(b, j, program{path: path, isReference: true})
	})
	b.Run("earlier", func(b *testing.B) {
		path := os.Getenv(earlierVar)
		if path == "" {
			b.Skip("not asked for: .ci/bench --against REV")
		}
		against(b, j, program{path: path})
	})
}

func against(b *testing.B, j job, other program) {
	dir := workflow(b, j.files)
	if err := other.try(dir, j); err != nil {
		b.Skipf("does not run this workflow: %v", err)
	}
	ours := candidate(b)
	measuretest.Compare(b,
		func() measuretest.Used { return ours.do(b, dir, j) },
		func() measuretest.Used { return other.do(b, dir, j) })
}

// compareBare compares raymond with a command that starts the same scripts.
func compareBare(b *testing.B, j job, command ...string) {
	dir := workflow(b, j.files)
	ours := candidate(b)
	measuretest.Compare(b,
		func() measuretest.Used { return ours.do(b, dir, j) },
		func() measuretest.Used {
			rewrite(b, dir, j.files, "count")
			return measuretest.Run(b, j.in(dir, exec.Command(command[0], command[1:]...)))
		})
}

// in makes the folder of the job, and its environment, those of a command.
func (j job) in(dir string, cmd *exec.Cmd) *exec.Cmd {
	cmd.Dir, cmd.Env = dir, os.Environ()
	for _, e := range j.env {
		cmd.Env = append(cmd.Env, strings.ReplaceAll(e, "$DIR", dir))
	}
	return cmd
}

// program is raymond, or another program that runs workflows.
type program struct {
	path        string
	isReference bool
}

// candidate returns the program that is measured.
func candidate(b *testing.B) program {
	b.Helper()
	path, err := built()
	if err != nil {
		b.Fatal(err)
	}
	return program{path: path}
}

var built = sync.OnceValues(func() (string, error) {
	return measuretest.Program(filepath.Join(sitetest.Builds, "raymond-released"))
})

// floor is the least that a program like raymond could do: see testdata/floor.
var floor = sync.OnceValues(func() (string, error) {
	path := filepath.Join(sitetest.Builds, "floor")
	return path, measuretest.Build(path, "./testdata/floor")
})

func (p program) command(ctx context.Context, args ...string) *exec.Cmd {
	if p.isReference {
		return exec.CommandContext(ctx, p.path, "wf/START.sh")
	}
	return exec.CommandContext(ctx, p.path, append([]string{"run", "wf", "--quiet"}, args...)...)
}

// do measures the program at a job.
func (p program) do(b *testing.B, dir string, j job) measuretest.Used {
	b.Helper()
	forget(b, filepath.Join(dir, ".raymond"))
	rewrite(b, dir, j.files, "count")
	return measuretest.Run(b, j.in(dir, p.command(b.Context(), j.args...)))
}

var tried = map[string]error{}

// try reports whether the program does the job: whether all scripts are started.
func (p program) try(dir string, j job) error {
	key := fmt.Sprint(p.path, slices.Sorted(maps.Keys(j.files)), j.scripts)
	if err, ok := tried[key]; ok {
		return err
	}
	tried[key] = p.tryOnce(dir, j)
	return tried[key]
}

func (p program) tryOnce(dir string, j job) error {
	trial := filepath.Join(dir, "trial")
	if err := os.WriteFile(trial, nil, 0o644); err != nil {
		return err
	}
	defer os.Remove(trial)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if _, err := measuretest.Try(j.in(dir, p.command(ctx, j.args...))); err != nil {
		return err
	}
	lines, err := os.ReadFile(trial)
	if err != nil {
		return err
	}
	if n := bytes.Count(lines, []byte("\n")); n != j.scripts {
		return fmt.Errorf("it started %d scripts and agents, want %d", n, j.scripts)
	}
	return nil
}

// workflow writes the files of a workflow and returns a folder to run it in.
func workflow(b *testing.B, files map[string]string) string {
	b.Helper()
	dir := b.TempDir()
	rewrite(b, dir, files, slices.Collect(maps.Keys(files))...)
	return dir
}

// rewrite writes those of the files that are named and that there are.
func rewrite(b *testing.B, dir string, files map[string]string, names ...string) {
	b.Helper()
	for _, name := range names {
		text, ok := files[name]
		if !ok {
			continue
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			b.Fatal(err)
		}
	}
}

// runOnce runs the workflow wf of a folder, without any state of earlier runs.
func runOnce(b *testing.B, dir string, args ...string) measuretest.Used {
	b.Helper()
	forget(b, filepath.Join(dir, ".raymond"))
	cmd := exec.Command(candidate(b).path, append([]string{"run", "wf"}, args...)...)
	cmd.Dir = dir
	return measuretest.Run(b, cmd)
}

// forget removes a folder with read-only copies in it.
func forget(b *testing.B, dir string) {
	b.Helper()
	out, err := exec.Command("/bin/bash", "-c", `[ ! -e "$1" ] || { chmod -R u+w "$1"; rm -r "$1"; }`, "bash", dir).CombinedOutput()
	if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
}
