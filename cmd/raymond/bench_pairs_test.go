//go:build linux

package main

import (
	"os/exec"
	"strings"
	"testing"
)

// BenchmarkStartUp is a whole workflow of one script, from the start of the program
// to its end: against a bare Go program that starts bash and saves one file durably,
// and against other programs.
func BenchmarkStartUp(b *testing.B) {
	j := job{files: map[string]string{"wf/START.sh": counted + "echo '<result>x</result>'\n"}, scripts: 1}
	b.Run("floor", func(b *testing.B) {
		path, err := floor()
		if err != nil {
			b.Fatal(err)
		}
		compareBare(b, j, path)
	})
	compare(b, j)
}

// BenchmarkScriptLoop is a loop of 301 script states, against a bash loop that
// starts the same script as often and passes on the same numbers, and against other
// programs.
func BenchmarkScriptLoop(b *testing.B) {
	j := job{scripts: 301, files: map[string]string{
		"wf/START.sh": counted + `n=${RAYMOND_RESULT:-${RAYMOND_INPUT:-0}}
if [ "$n" -ge 300 ]; then echo "<result>$n</result>"; else echo "<goto input=\"$((n+1))\">START.sh</goto>"; fi
`,
		"bare": `n=0
while out=$(RAYMOND_RESULT=$n /bin/bash wf/START.sh); do
	case $out in *result*) break ;; esac
	n=$((n+1))
done
`,
	}}
	b.Run("bare", func(b *testing.B) { compareBare(b, j, "/bin/bash", "bare") })
	compare(b, j)
}

// BenchmarkStubAgents is a dispatcher that forks 500 workers, each of which asks an
// agent CLI once: a stub in Python that answers at once. It is compared with a bash
// loop that starts the same scripts and the same stub, as many at once, and with other
// programs.
func BenchmarkStubAgents(b *testing.B) {
	python := interpreter(b)
	j := job{
		scripts: 1001,
		args:    []string{"--max-agents", "2000"},
		env:     []string{"RAYMOND_CLAUDE=$DIR/bin/claude", "PATH=$DIR/bin:/usr/local/bin:/usr/bin:/bin", "HOME=$DIR"},
		files: map[string]string{
			"wf/START.sh": counted + dispatcher(500, "WORK.md"),
			"wf/WORK.md":  "Do it.\n",
			"count":       "0\n",
			"bare": `n=0
while out=$(/bin/bash wf/START.sh); do
	case $out in *result*) break ;; esac
	[ "$((++n))" -le 3 ] || wait -n
	bin/claude <wf/WORK.md >/dev/null &
done
wait
`,
			"bin/claude": "#!" + python + " -IS\n" + `import os, sys
args = sys.argv[1:]
if args == ["--version"]:
    print("2.1.330 (Claude Code)")
    sys.exit()
sys.stdin.read()
session = args[args.index("--session-id") + 1] if "--session-id" in args else "x"
print('{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"<result>done</result>"}]}}')
print('{"type":"result","subtype":"success","is_error":false,"result":"<result>done</result>","stop_reason":"end_turn","num_turns":1,"session_id":"' + session + '","total_cost_usd":0.01}')
if os.path.exists("trial"):
    open("trial", "a").write("\n")
`,
		},
	}
	b.Run("bare", func(b *testing.B) { compareBare(b, j, "/bin/bash", "bare") })
	compare(b, j)
}

// interpreter returns the path of Python itself, where the one on the PATH may be a
// script that looks for it.
func interpreter(b *testing.B) string {
	b.Helper()
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		b.Skipf("not to be had: python3: %v", err)
	}
	return strings.TrimSpace(string(out))
}
