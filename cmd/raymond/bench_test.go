//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/internal/measuretest"
)

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

// BenchmarkForks runs a thousand workers of one script state each, forked all at
// once and one by one by a dispatcher, and compares the latter with other programs.
func BenchmarkForks(b *testing.B) {
	worker := "echo \"<result>done $RAYMOND_VAR_ITEM</result>\"\n[ \"$RAYMOND_VAR_ITEM\" -lt 990 ] || " + noteMemory
	b.Run("at-once", func(b *testing.B) {
		forks(b, map[string]string{
			"wf/START.sh": "# raymond: many_forks=true\nfor i in {1..1000}; do echo \"<fork next=\\\"END.sh\\\" item=\\\"$i\\\">WORK.sh</fork>\"; done\n",
			"wf/WORK.sh":  worker, "wf/END.sh": "echo '<result>end</result>'\n",
		})
	})
	b.Run("one-by-one", func(b *testing.B) {
		forks(b, map[string]string{"wf/START.sh": dispatcher(1000, "WORK.sh"), "wf/WORK.sh": worker, "count": "0\n"})
	})
	compare(b, job{
		files:   map[string]string{"wf/START.sh": counted + dispatcher(1000, "WORK.sh"), "wf/WORK.sh": counted + "echo '<result>done</result>'\n", "count": "0\n"},
		args:    []string{"--max-agents", "2000"},
		scripts: 2001,
	})
}

func forks(b *testing.B, files map[string]string) {
	dir := workflow(b, files)
	s := measuretest.Series{}
	for b.Loop() {
		rewrite(b, dir, files, "count")
		u := runOnce(b, dir, "--quiet", "--max-agents", "2000")
		s.Add("peak-MiB", peak(b, dir))
		s.Add("written-MB", u.Wrote/1e6)
		s.Add("dirtied-MB", u.Dirtied/1e6)
		s.AddTimes("", u)
	}
	s.Report(b)
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
	s := measuretest.Series{}
	for b.Loop() {
		u := runOnce(b, dir, args...)
		s.Add("peak-MiB", peak(b, dir))
		s.AddTimes("", u)
	}
	s.Report(b)
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
		return runOnce(b, dir, arg).CPU.Seconds()
	}
	s := measuretest.Series{}
	for b.Loop() {
		without, with := cpu("--quiet"), cpu("--verbose")
		s.Add("cpu-ratio", with/without)
		s.Add("cpu-µs/line", (with-without)*1e6/6000)
	}
	s.Report(b)
}
