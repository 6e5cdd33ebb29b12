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
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// usedBy is what one command and everything it waited for have used.
type usedBy struct {
	wall, cpu   time.Duration
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
	// It is not collected yet, so its counters are still there.
	io := counters(b, fmt.Sprintf("/proc/%d/io", cmd.Process.Pid))
	if err := cmd.Wait(); err != nil {
		b.Fatalf("%q: %v\n%s", cmd.Args, err, &stderr)
	}
	u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
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

// noteMemory is a line of a script that writes down the largest memory that
// raymond has had so far. What the kernel says of a process that has ended counts
// the memory of the one that started it, too.
const noteMemory = "grep VmHWM /proc/$PPID/status >peak\n"

// peak returns in MiB what noteMemory wrote down.
func peak(b *testing.B, dir string) float64 {
	b.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "peak"))
	if err != nil {
		b.Fatal(err)
	}
	kib, err := strconv.ParseFloat(strings.Fields(string(data))[1], 64)
	if err != nil {
		b.Fatal(err)
	}
	return kib / 1024
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
	cmd := exec.Command(sitetest.Raymond.Path(b), append([]string{"run", "wf"}, args...)...)
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
		without, with := measure(b, cmd), runOnce(b, dir, "--quiet")
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
// all at once and one by one.
func BenchmarkThousandForks(b *testing.B) {
	worker := "echo \"<result>done $RAYMOND_VAR_ITEM</result>\"\n[ \"$RAYMOND_VAR_ITEM\" -lt 990 ] || " + noteMemory
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
		b.Run(name, func(b *testing.B) { forks(b, workflow(b, files)) })
	}
}

func forks(b *testing.B, dir string) {
	var memory, wrote, disk, cpu []float64
	for b.Loop() {
		if err := os.WriteFile(filepath.Join(dir, "count"), []byte("0\n"), 0o644); err != nil {
			b.Fatal(err)
		}
		u := runOnce(b, dir, "--quiet", "--max-agents", "2000")
		memory, wrote = append(memory, peak(b, dir)), append(wrote, u.wrote/1e6)
		disk, cpu = append(disk, u.wroteToDisk/1e6), append(cpu, u.cpu.Seconds())
	}
	median(b, memory, "peak-MiB")
	median(b, wrote, "written-MB")
	median(b, disk, "dirtied-MB")
	median(b, cpu, "cpu-s")
}

// BenchmarkFlood: an agent CLI, or a script on stderr, writes 200 MiB in lines of
// several sizes.
func BenchmarkFlood(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20, 24 << 20} {
		for _, args := range [][]string{{"--quiet"}, {"--verbose"}} {
			name := fmt.Sprintf("lines-of-%dKiB%s", size>>10, args[0])
			b.Run("agent/"+name, func(b *testing.B) { flood(b, agentFlood(size), args) })
			b.Run("stderr/"+name, func(b *testing.B) { flood(b, stderrFlood(size), args) })
		}
	}
}

// floodOf is the part of a script that writes 200 MiB: a file of 1 MiB or more,
// again and again.
func floodOf(size int, open, shut string) string {
	part := max(size, 1<<20)
	return fmt.Sprintf(`fill=$(head -c %d /dev/zero | tr '\0' x)
for ((i = 0; i < %d; i++)); do echo '%s'"$fill"'%s'; done >part
for ((i = 0; i < %d; i++)); do cat part; done`, size, part/size, open, shut, (200<<20)/part)
}

func agentFlood(size int) map[string]string {
	said := floodOf(size, `{"type":"user","message":{"content":[{"type":"tool_result","content":"`, `"}]}}`)
	return map[string]string{
		"wf/START.md": "go\n",
		"wf/END.sh":   noteMemory + "echo '<result>x</result>'\n",
		"claude":      "#!/bin/bash\n[ \"$1\" = --version ] && { echo 2.1.200; exit; }\ncat >/dev/null\n" + said + "\ncat end\n",
		"end": `{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"<goto>END</goto>"}]}}
{"type":"result","subtype":"success","is_error":false,"stop_reason":"end_turn","num_turns":1,"session_id":"x","total_cost_usd":0.01}
`,
	}
}

func stderrFlood(size int) map[string]string {
	return map[string]string{"wf/START.sh": floodOf(size, "", "") + " >&2\n" + noteMemory + "echo '<result>x</result>'\n"}
}

func flood(b *testing.B, files map[string]string, args []string) {
	dir := workflow(b, files)
	b.Setenv("RAYMOND_CLAUDE", filepath.Join(dir, "claude"))
	var memory, cpu []float64
	for b.Loop() {
		u := runOnce(b, dir, args...)
		memory, cpu = append(memory, peak(b, dir)), append(cpu, u.cpu.Seconds())
	}
	median(b, memory, "peak-MiB")
	median(b, cpu, "cpu-s")
}

// BenchmarkTelling: twenty executions of an agent that says 300 lines each, with
// what it says told and not told.
func BenchmarkTelling(b *testing.B) {
	dir := workflow(b, map[string]string{
		"wf/START.md": "go\n",
		"claude": `#!/bin/bash
[ "$1" = --version ] && { echo 2.1.200; exit; }
cat >/dev/null; cat says
read -r n <count; echo $((n + 1)) >count
tag='<reset>START</reset>'; [ "$n" -lt 19 ] || tag='<result>x</result>'
echo '{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"'"$tag"'"}]}}'
echo '{"type":"result","subtype":"success","is_error":false,"stop_reason":"end_turn","num_turns":1,"session_id":"x","total_cost_usd":0.01}'
`,
		"says": strings.Repeat(`{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"I look at the next file"},`+
			`{"type":"tool_use","id":"t","name":"Bash","input":{"command":"go test ./..."}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}}
`, 150),
	})
	b.Setenv("RAYMOND_CLAUDE", filepath.Join(dir, "claude"))
	cpu := func(arg string) float64 {
		if err := os.WriteFile(filepath.Join(dir, "count"), []byte("0\n"), 0o644); err != nil {
			b.Fatal(err)
		}
		return runOnce(b, dir, arg).cpu.Seconds()
	}
	var ratios, each []float64
	for b.Loop() {
		without, with := cpu("--quiet"), cpu("--verbose")
		ratios, each = append(ratios, with/without), append(each, (with-without)*1e6/6000)
	}
	median(b, ratios, "cpu-ratio")
	median(b, each, "cpu-µs/line")
}

// BenchmarkStartUp is a whole workflow of one script, from the start of the
// program to its end, and beside it the script alone.
func BenchmarkStartUp(b *testing.B) {
	dir := workflow(b, map[string]string{"wf/START.sh": "echo '<result>x</result>'\n"})
	var wall, cpu, bare []float64
	for b.Loop() {
		script := measure(b, exec.Command("/bin/bash", filepath.Join(dir, "wf/START.sh")))
		u := runOnce(b, dir, "--quiet")
		wall = append(wall, float64(u.wall.Microseconds())/1000)
		cpu = append(cpu, float64(u.cpu.Microseconds())/1000)
		bare = append(bare, float64(script.wall.Microseconds())/1000)
	}
	median(b, wall, "wall-ms")
	median(b, cpu, "cpu-ms")
	median(b, bare, "bare-wall-ms")
}
