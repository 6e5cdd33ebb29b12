// Package measuretest is for benchmarks of whole programs: it measures commands
// from outside, and compares two that do the same work.
package measuretest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ProgramVar is the variable by which .ci/bench names the raymond that is measured.
const ProgramVar = "RAYMOND_BENCH_PROGRAM"

// Program returns the raymond that is measured: that of ProgramVar, or one that it
// builds at path.
func Program(path string) (string, error) {
	if given := os.Getenv(ProgramVar); given != "" {
		return given, nil
	}
	return path, Build(path, "github.com/raymond-action/raymond-action/cmd/raymond")
}

// Build builds a program at path as a release does.
func Build(path, pkg string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

// Used is what a command and everything that it waited for have used.
type Used struct {
	Wall, CPU time.Duration
	Wrote     float64 // bytes given to write calls, without those of its children
	Dirtied   float64 // bytes in pages that had to be written to disk
}

// Until returns the times that u2 has used more than u, for each of n parts.
func (u Used) Until(u2 Used, n int) Used {
	return Used{Wall: (u2.Wall - u.Wall) / time.Duration(n), CPU: (u2.CPU - u.CPU) / time.Duration(n)}
}

// Run runs a command to its successful end, or ends the benchmark with what the
// command wrote to stderr. Standard output is thrown away unless the command has one.
func Run(b testing.TB, cmd *exec.Cmd) Used {
	b.Helper()
	used, err := Try(cmd)
	if err != nil {
		b.Fatal(err)
	}
	return used
}

// Try is Run for a command that may fail.
func Try(cmd *exec.Cmd) (Used, error) { return run(cmd, func(int) {}) }

// Peak is Run that also returns the largest memory that the process had, in MiB. What
// the kernel says of a process that has ended counts the memory of the one that
// started it, so this looks every few milliseconds; that takes some CPU time.
func Peak(b testing.TB, cmd *exec.Cmd) (Used, float64) {
	b.Helper()
	var kib float64
	used, err := run(cmd, func(pid int) { kib = watch(fmt.Sprintf("/proc/%d/status", pid)) })
	if err != nil {
		b.Fatal(err)
	}
	return used, kib / 1024
}

// watch returns the last VmHWM of a process, in KiB, once the process has ended.
func watch(status string) float64 {
	every := time.NewTicker(2 * time.Millisecond)
	defer every.Stop()
	var kib float64
	for range every.C {
		data, err := os.ReadFile(status)
		if err != nil {
			break
		}
		_, after, found := strings.Cut(string(data), "VmHWM:")
		if !found { // it has ended
			break
		}
		// "  1234 kB" and other lines
		if n, err := strconv.ParseFloat(strings.Fields(after)[0], 64); err == nil {
			kib = n
		}
	}
	return kib
}

// run runs a command, and meanwhile a function that gets its process id and returns
// no later than shortly after the command has ended.
func run(cmd *exec.Cmd, meanwhile func(pid int)) (Used, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return Used{}, err
	}
	meanwhile(cmd.Process.Pid)
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	used := Used{Wall: time.Since(began)}
	// The process has ended, and its counters are there until Wait.
	io, ioErr := counters(fmt.Sprintf("/proc/%d/io", cmd.Process.Pid))
	if err := cmd.Wait(); err != nil {
		return Used{}, fmt.Errorf("%q: %w\n%s", cmd.Args, err, &stderr)
	}
	used.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	used.Wrote, used.Dirtied = io["wchar"], io["write_bytes"]
	return used, ioErr
}

// counters reads lines of the form "name: number".
func counters(path string) (map[string]float64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	found := map[string]float64{}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if found[name], err = strconv.ParseFloat(value, 64); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return found, nil
}

// Series collects the figures of a benchmark by unit, and reports the median of each.
type Series map[string][]float64

// Add adds a figure.
func (s Series) Add(unit string, figure float64) { s[unit] = append(s[unit], figure) }

// AddTimes adds the times of a command in milliseconds, under names that begin with prefix.
func (s Series) AddTimes(prefix string, u Used) {
	s.Add(prefix+"wall-ms", float64(u.Wall.Microseconds())/1000)
	s.Add(prefix+"cpu-ms", float64(u.CPU.Microseconds())/1000)
}

// Report reports the medians. The time of an iteration, in which several commands
// run, says nothing and is left out.
func (s Series) Report(b *testing.B) {
	for unit, figures := range s {
		slices.Sort(figures)
		b.ReportMetric(figures[len(figures)/2], unit)
	}
	b.ReportMetric(0, "ns/op")
}

// runs counts, for each benchmark, the pairs so far.
var runs = map[string]int{}

// Compare measures two commands that do the same work, in turn: in every second
// pair the other one comes first. It reports wall-ratio and cpu-ratio, ours divided
// by the other's of the same pair, and the times of both. Each function runs its
// command once. Benchmarks that compare must not run in parallel.
func Compare(b *testing.B, ours, other func() Used) {
	s := Series{}
	for b.Loop() {
		var with, without Used
		if runs[b.Name()]++; runs[b.Name()]%2 == 0 {
			with, without = ours(), other()
		} else {
			without, with = other(), ours()
		}
		s.Add("wall-ratio", with.Wall.Seconds()/without.Wall.Seconds())
		s.Add("cpu-ratio", with.CPU.Seconds()/without.CPU.Seconds())
		s.AddTimes("", with)
		s.AddTimes("other-", without)
	}
	s.Report(b)
}
