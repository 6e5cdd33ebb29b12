//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// usedBy is what one command and everything it waited for have used.
type usedBy struct {
	wall, cpu   time.Duration
	peak        float64 // bytes of memory, of the largest process
	wrote       float64 // bytes given to write calls
	wroteToDisk float64 // bytes in pages that were made dirty
}

// measure runs a command to its successful end.
func measure(b *testing.B, cmd *exec.Cmd) usedBy {
	b.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	u := usedBy{wall: time.Since(began)}
	io := counters(b, fmt.Sprintf("/proc/%d/io", cmd.Process.Pid)) // still there: it is not collected yet
	if err := cmd.Wait(); err != nil {
		b.Fatalf("%q: %v\n%s", cmd.Args, err, &stderr)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	u.peak = float64(usage.Maxrss) * 1024
	u.wrote, u.wroteToDisk = io["wchar"], io["write_bytes"]
	return u
}

// counters reads lines of the form "name: number".
func counters(b *testing.B, path string) map[string]float64 {
	b.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	found := map[string]float64{}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if found[name], err = strconv.ParseFloat(value, 64); err != nil {
			b.Fatal(err)
		}
	}
	return found
}

// median reports the median of a series.
func median(b *testing.B, series []float64, unit string) {
	slices.Sort(series)
	b.ReportMetric(series[len(series)/2], unit)
}

// workflow writes the files of a workflow and returns a folder to run it in.
func workflow(b *testing.B, files map[string]string) string {
	b.Helper()
	dir := b.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// runOnce runs the workflow wf of a folder, without any state of earlier runs.
func runOnce(b *testing.B, dir string, args ...string) usedBy {
	b.Helper()
	forget(b, filepath.Join(dir, ".raymond"))
	cmd := exec.Command(raymond.path(b), append([]string{"run", "wf", "--quiet"}, args...)...)
	cmd.Dir = dir
	return measure(b, cmd)
}

// forget removes a folder with read-only copies in it.
func forget(b *testing.B, dir string) {
	b.Helper()
	out, err := exec.Command("/bin/bash", "-c", `[ ! -e "$1" ] || { chmod -R u+w "$1"; rm -r "$1"; }`, "bash", dir).CombinedOutput()
	if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
}

// BenchmarkScriptLoop compares a loop of 300 script states with a bash loop that
// starts the same script as often and passes on the same numbers: the CPU time of
// everything that either started.
func BenchmarkScriptLoop(b *testing.B) {
	dir := workflow(b, map[string]string{
		"wf/START.sh": `n=${RAYMOND_RESULT:-0}
if [ "$n" -ge 300 ]; then echo "<result>$n</result>"; else echo "<goto input=\"$((n+1))\">START.sh</goto>"; fi
`,
		"bare": `n=0
while out=$(RAYMOND_RESULT=$n /bin/bash wf/START.sh); do
	case $out in *result*) break ;; esac
	n=$((n+1))
done
`,
	})
	var ratios, own, bare, wall []float64
	for b.Loop() {
		cmd := exec.Command("/bin/bash", "bare")
		cmd.Dir = dir
		without, with := measure(b, cmd), runOnce(b, dir)
		ratios = append(ratios, float64(with.cpu)/float64(without.cpu))
		own = append(own, float64(with.cpu.Microseconds())/301)
		bare = append(bare, float64(without.cpu.Microseconds())/301)
		wall = append(wall, float64(with.wall.Microseconds())/301)
	}
	median(b, ratios, "cpu-ratio")
	median(b, own, "cpu-µs/state")
	median(b, bare, "bare-cpu-µs/state")
	median(b, wall, "wall-µs/state")
}

// BenchmarkThousandForks runs a thousand workers of one script state each, forked
// one by one and all at once.
func BenchmarkThousandForks(b *testing.B) {
	worker := "echo \"<result>done $RAYMOND_VAR_ITEM</result>\"\n"
	for name, files := range map[string]map[string]string{
		"AtOnce": {
			"wf/START.sh": "# raymond: many_forks=true\nfor i in {1..1000}; do echo \"<fork next=\\\"END.sh\\\" item=\\\"$i\\\">WORK.sh</fork>\"; done\n",
			"wf/WORK.sh":  worker, "wf/END.sh": "echo '<result>end</result>'\n",
		},
		"OneByOne": {
			"wf/START.sh": "read n <count\necho $((n+1)) >count\nif [ \"$n\" -lt 1000 ]; then echo \"<fork next=\\\"START.sh\\\" item=\\\"$n\\\">WORK.sh</fork>\"; else echo '<result>end</result>'; fi\n",
			"wf/WORK.sh":  worker,
		},
	} {
		b.Run(name, func(b *testing.B) {
			dir := workflow(b, files)
			var peak, wrote, disk, cpu []float64
			for b.Loop() {
				if err := os.WriteFile(filepath.Join(dir, "count"), []byte("0\n"), 0o644); err != nil {
					b.Fatal(err)
				}
				u := runOnce(b, dir, "--max-agents", "2000")
				peak, wrote = append(peak, u.peak/(1<<20)), append(wrote, u.wrote/1e6)
				disk, cpu = append(disk, u.wroteToDisk/1e6), append(cpu, u.cpu.Seconds())
			}
			median(b, peak, "peak-MiB")
			median(b, wrote, "written-MB")
			median(b, disk, "dirtied-MB")
			median(b, cpu, "cpu-s")
		})
	}
}

// BenchmarkFlood: an agent CLI, and a script, that writes 200 MB.
func BenchmarkFlood(b *testing.B) {
	const total = 200 << 20
	result := `{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"<result>x</result>"}]}}
{"type":"result","subtype":"success","is_error":false,"stop_reason":"end_turn","num_turns":1,"session_id":"x","total_cost_usd":0.01}
`
	for _, size := range []int{1 << 10, 1 << 20, 24 << 20} {
		repeat := fmt.Sprintf("for ((i = 0; i < %d; i++)); do cat line; done", total/size)
		claude := "#!/bin/bash\n[ \"$1\" = --version ] && { echo 2.1.200; exit; }\ncat >/dev/null\n" + repeat + "\ncat end\n"
		line := `{"type":"user","message":{"content":[{"type":"tool_result","content":"` + strings.Repeat("x", size) + "\"}]}}\n"
		if size == 1<<10 {
			// A process for each small line would take longer than what is measured.
			line, claude = strings.Repeat(line, 1<<10), strings.Replace(claude, strconv.Itoa(total/size), strconv.Itoa(total>>20), 1)
		}
		for name, files := range map[string]map[string]string{
			"Agent":  {"wf/START.md": "go\n", "claude": claude, "line": line, "end": result},
			"Stderr": {"wf/START.sh": strings.ReplaceAll(strings.TrimPrefix(claude, "#!/bin/bash\n"), "done\n", "done >&2\n"), "line": line, "end": "<result>x</result>\n"},
		} {
			for _, verbose := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/%dKiB/verbose=%v", name, size>>10, verbose), func(b *testing.B) {
					floodOnce(b, files, verbose)
				})
			}
		}
	}
}

func floodOnce(b *testing.B, files map[string]string, verbose bool) {
	dir := workflow(b, files)
	b.Setenv("RAYMOND_CLAUDE", filepath.Join(dir, "claude"))
	var peak, cpu []float64
	for b.Loop() {
		args := []string{}
		if verbose {
			args = []string{"--verbose"}
		}
		u := runFlood(b, dir, args...)
		peak, cpu = append(peak, u.peak/(1<<20)), append(cpu, u.cpu.Seconds())
	}
	median(b, peak, "peak-MiB")
	median(b, cpu, "cpu-s")
}

func runFlood(b *testing.B, dir string, args ...string) usedBy {
	b.Helper()
	forget(b, filepath.Join(dir, ".raymond"))
	cmd := exec.Command(raymond.path(b), append([]string{"run", "wf"}, args...)...)
	cmd.Dir = dir
	return measure(b, cmd)
}

// BenchmarkStartUp is a whole workflow of one script, from the start of the
// program to its end, and beside it the script alone.
func BenchmarkStartUp(b *testing.B) {
	dir := workflow(b, map[string]string{"wf/START.sh": "echo '<result>x</result>'\n"})
	var wall, cpu, bare []float64
	for b.Loop() {
		script := measure(b, exec.Command("/bin/bash", filepath.Join(dir, "wf/START.sh")))
		u := runOnce(b, dir)
		wall = append(wall, float64(u.wall.Microseconds())/1000)
		cpu = append(cpu, float64(u.cpu.Microseconds())/1000)
		bare = append(bare, float64(script.wall.Microseconds())/1000)
	}
	median(b, wall, "wall-ms")
	median(b, cpu, "cpu-ms")
	median(b, bare, "bare-wall-ms")
}
