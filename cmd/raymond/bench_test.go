//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// job is a workflow for a benchmark. Its states are in the directory wf.
type job struct {
	files map[string]string
	args  []string // flags of raymond
	env   []string // further variables, in which $DIR is the directory of the job
}

// dispatcher returns a script that forks n workers. Each execution of the script forks one of them.
func dispatcher(n int, worker string) string {
	return fmt.Sprintf(`read -r n <count
echo $((n+1)) >count
if [ "$n" -lt %d ]; then echo "<fork next=\"START.sh\" item=\"$n\">%s</fork>"; else echo '<result>end</result>'; fi
`, n, worker)
}

// do measures a command that runs in the directory dir of the job. Before that, it writes the job's files and removes
// the state of earlier runs. The benchmark fails if the command fails.
func (j job) do(b *testing.B, dir string, command ...string) used {
	b.Helper()
	assert.NilError(b, os.RemoveAll(filepath.Join(dir, ".raymond")))
	for name, text := range j.files {
		path := filepath.Join(dir, name)
		assert.NilError(b, os.MkdirAll(filepath.Dir(path), 0o755))
		assert.NilError(b, os.WriteFile(path, []byte(text), 0o755))
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, os.Environ()
	for _, e := range j.env {
		cmd.Env = append(cmd.Env, strings.ReplaceAll(e, "$DIR", dir))
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	assert.NilError(b, cmd.Run(), "%q:\n%s", cmd.Args, &stderr)
	return used{time.Since(began), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
}

// raymond measures a run of the job by the raymond at path.
func (j job) raymond(b *testing.B, path, dir string) used {
	b.Helper()
	return j.do(b, dir, append([]string{path, "run", "wf", "--quiet"}, j.args...)...)
}

// compare compares raymond with a command that starts the same scripts. If an earlier version of raymond
// is given, it also compares raymond with that version.
func compare(b *testing.B, name string, j job, command ...string) {
	dir := b.TempDir()
	ours := func() used { return j.raymond(b, program(b), dir) }
	b.Run(name, func(b *testing.B) {
		inTurn(b, ours, func() used { return j.do(b, dir, command...) })
	})
	b.Run("earlier", func(b *testing.B) {
		earlier := os.Getenv(earlierVar)
		if earlier == "" {
			b.Skip("not asked for: .ci/bench --against REV")
		}
		inTurn(b, ours, func() used { return j.raymond(b, earlier, dir) })
	})
}

// BenchmarkStartUp measures a workflow that consists of one script, from the start of the program to its
// end. It compares that with a shell that starts the script and writes one file with sync.
func BenchmarkStartUp(b *testing.B) {
	compare(b, "floor", job{files: map[string]string{"wf/START.sh": "echo '<result>x</result>'\n"}}, "/bin/bash", "-c", "echo {} >state; sync state; /bin/bash wf/START.sh")
}

// BenchmarkScriptLoop measures a loop of 301 script states. It compares that with a bash loop that starts
// the same script as often with the same numbers.
func BenchmarkScriptLoop(b *testing.B) {
	compare(b, "bare", job{files: map[string]string{
		"wf/START.sh": `n=${RAYMOND_RESULT:-${RAYMOND_INPUT:-0}}
if [ "$n" -ge 300 ]; then echo "<result>$n</result>"; else echo "<goto input=\"$((n+1))\">START.sh</goto>"; fi
`,
		"bare": `n=0
while out=$(RAYMOND_RESULT=$n /bin/bash wf/START.sh); do
	case $out in *result*) break ;; esac
	n=$((n+1))
done
`,
	}}, "/bin/bash", "bare")
}

// BenchmarkStubAgents measures a dispatcher that forks 500 workers. Each worker calls an agent CLI once,
// which is a stub in Python that answers immediately. It compares that with a bash loop that starts the
// same scripts and stubs, with the same number of processes in parallel.
func BenchmarkStubAgents(b *testing.B) {
	// The python3 on the PATH may be a script that searches for Python, which would be measured too.
	python, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		b.Run("bare", func(b *testing.B) { b.Skipf("no python3: %v", err) })
		return
	}
	compare(b, "bare", job{
		args: []string{"--max-agents", "2000"},
		env:  []string{"RAYMOND_CLAUDE=$DIR/bin/claude", "PATH=$DIR/bin:/usr/local/bin:/usr/bin:/bin", "HOME=$DIR"},
		files: map[string]string{
			"wf/START.sh": dispatcher(500, "WORK.md"), "wf/WORK.md": "Do it.\n", "count": "0\n",
			"bare": `n=0
while out=$(/bin/bash wf/START.sh); do
	case $out in *result*) break ;; esac
	[ "$((++n))" -le 3 ] || wait -n
	bin/claude <wf/WORK.md >/dev/null &
done
wait
`,
			"bin/claude": "#!" + strings.TrimSpace(string(python)) + " -IS\n" + `import sys
args = sys.argv[1:]
if args == ["--version"]:
    print("2.1.330 (Claude Code)")
    sys.exit()
sys.stdin.read()
session = args[args.index("--session-id") + 1] if "--session-id" in args else "x"
print('{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"<result>done</result>"}]}}')
print('{"type":"result","subtype":"success","is_error":false,"result":"<result>done</result>","stop_reason":"end_turn","num_turns":1,"session_id":"' + session + '","total_cost_usd":0.01}')
`,
		},
	}, "/bin/bash", "bare")
}

// noteMemory is a line for a script that saves raymond's peak memory use so far to the file peak. The
// kernel's figure for a process that has ended can't be used, because it includes the memory of the
// process that started it.
const noteMemory = "grep VmHWM /proc/$PPID/status >peak\n"

// BenchmarkForks measures a thousand workers, each of which executes one script state. They are forked either
// all together by one state, or one by one by a dispatcher. It also measures raymond's peak memory use.
func BenchmarkForks(b *testing.B) {
	worker := "echo \"<result>done $RAYMOND_VAR_ITEM</result>\"\n[ \"$RAYMOND_VAR_ITEM\" -lt 990 ] || " + noteMemory
	for name, files := range map[string]map[string]string{
		"at-once": {
			"wf/START.sh": "# raymond: many_forks=true\nfor i in {1..1000}; do echo \"<fork next=\\\"END.sh\\\" item=\\\"$i\\\">WORK.sh</fork>\"; done\n",
			"wf/WORK.sh":  worker, "wf/END.sh": "echo '<result>end</result>'\n",
		},
		"one-by-one": {"wf/START.sh": dispatcher(1000, "WORK.sh"), "wf/WORK.sh": worker, "count": "0\n"},
	} {
		b.Run(name, func(b *testing.B) {
			dir, j, s := b.TempDir(), job{files: files, args: []string{"--max-agents", "2000"}}, series{}
			for b.Loop() {
				u := j.raymond(b, program(b), dir)
				data, err := os.ReadFile(filepath.Join(dir, "peak"))
				assert.NilError(b, err)
				kib, err := strconv.ParseFloat(strings.Fields(string(data))[1], 64)
				assert.NilError(b, err)
				s.add("peak-MiB", kib/1024)
				s.addTimes("", u.wall, u.cpu)
			}
			s.report(b)
		})
	}
}

// BenchmarkCagedStates measures how much longer a script state takes in a cage, with a loop of 100 states.
func BenchmarkCagedStates(b *testing.B) {
	j := job{files: map[string]string{"wf/START.sh": `n=${RAYMOND_RESULT:-0}
if [ "$n" -ge 100 ]; then echo "<result>$n</result>"; else echo "<goto input=\"$((n+1))\">START.sh</goto>"; fi
`}}
	dir, s := b.TempDir(), series{}
	for b.Loop() {
		free := j.raymond(b, program(b), dir)
		caged := job{files: j.files, args: []string{"--cage", "on"}}.raymond(b, program(b), dir)
		s.addTimes("more-", (caged.wall-free.wall)/101, (caged.cpu-free.cpu)/101)
	}
	s.report(b)
}

// BenchmarkCageCommand measures how much longer a command takes if raymond cage starts it.
func BenchmarkCageCommand(b *testing.B) {
	dir, s := b.TempDir(), series{}
	for b.Loop() {
		bare, caged := job{}.do(b, dir, "/bin/true"), job{}.do(b, dir, program(b), "cage", "--", "/bin/true")
		s.addTimes("more-", caged.wall-bare.wall, caged.cpu-bare.cpu)
	}
	s.report(b)
}
