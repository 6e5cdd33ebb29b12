//go:build linux && world

package acttest_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/internal/installtest"
)

// clocks is where a run writes down when it began and when its first state did.
type clocks struct{ began, first string }

func newClocks(b *testing.B) clocks {
	b.Helper()
	dir := b.TempDir()
	return clocks{filepath.Join(dir, "began"), filepath.Join(dir, "first")}
}

// took is the time between the two.
func (c clocks) took(b *testing.B) time.Duration {
	b.Helper()
	return time.Duration(nanoseconds(b, c.first) - nanoseconds(b, c.began))
}

// nanoseconds reads the first clock in a file and removes it.
func nanoseconds(b *testing.B, path string) int64 {
	b.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	n, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		b.Fatal(err)
	}
	return n
}

// timed is a program that writes down when it was started and becomes another.
// Its shell costs both sides of the comparison the same.
func timed(b *testing.B, c clocks, name, program string) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), name)
	// Before the first step act asks node for its path, and starts that.
	script := fmt.Sprintf(`#!/bin/sh
case "$*" in *process.execPath*) echo "$0"; exit ;; esac
[ -e %[1]s ] || date +%%s%%N >%[1]s
exec %[2]s "$@"
`, c.began, program)
	installtest.WriteProgram(b, path, script)
	return path
}

// oneState is a workflow of one script, which writes down when it was started.
func oneState(c clocks) string {
	return fmt.Sprintf(`
-- flow/1_START.sh --
date +%%s%%N >%s
echo "<result>done</result>"
-- .github/workflows/w.yml --
on: workflow_dispatch
jobs:
  one:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - id: raymond
        uses: acme/raymond-action@v1
        with: {workflow: flow, resume: never}
`, c.first)
}

// BenchmarkColdStart tells, in milliseconds, how long it takes from the start of
// a step to its first state (act-ms) and from the start of the bare program on
// the same workflow (bare-ms), each a median, and the difference (over-ms), which
// the shim and what the job needs account for. step-ms is a step from end to
// end, saving the run included.
func BenchmarkColdStart(b *testing.B) {
	program := raymond(b)
	c := newClocks(b)
	repo := acttest.Repository(b, oneState(c))
	config := acttest.Config{
		Repo: repo, Workflow: ".github/workflows/w.yml", Node: timed(b, c, "node", installtest.Node(b)),
		Actions: map[string]string{"acme/raymond-action@v1": acttest.Release(b, program)},
	}
	bare := timed(b, c, "raymond", program)
	var inAct, steps, alone []time.Duration
	for b.Loop() {
		r := acttest.Run(b, config)
		s := r.WantStep(b, "one/raymond", "success")
		inAct, steps = append(inAct, c.took(b)), append(steps, s.Took)
		runBare(b, bare, repo)
		alone = append(alone, c.took(b))
	}
	b.ReportMetric(milliseconds(inAct), "act-ms")
	b.ReportMetric(milliseconds(alone), "bare-ms")
	b.ReportMetric(milliseconds(inAct)-milliseconds(alone), "over-ms")
	b.ReportMetric(milliseconds(steps), "step-ms")
	b.ReportMetric(0, "ns/op") // of both together, which says nothing
}

// raymond builds the program as a release has it.
func raymond(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "raymond")
	cmd := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "./cmd/raymond")
	cmd.Dir, cmd.Env = acttest.Root(b), append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return path
}

func runBare(b *testing.B, program, repo string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), program, "run", filepath.Join(repo, "flow"))
	cmd.Dir = b.TempDir()
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + cmd.Dir, "LANG=C.UTF-8"}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s: %v\n%s", cmd, err, out.String())
	}
}

// milliseconds returns the median.
func milliseconds(all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[len(all)/2].Microseconds()) / 1000
}
