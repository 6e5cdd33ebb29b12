//go:build linux

package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// attack is a shell command that a hostile agent runs. The attack succeeds if the command exits with 0.
// The command must leave everything unchanged, so that attacks don't influence each other.
type attack struct{ aim, command string }

// attacks use these variables: TEMP is the job's temporary folder, ACTION the action's folder, RAYMOND the id of the step's
// process, and ROOT the test's top folder. The words STATES and PORT are replaced with the path of the run's state and the
// port of a server. While an attack has moved files away, the step may create new ones at the old path, so later attacks
// don't rely on them.
var attacks = []attack{
	{"the code of the action", `: >>"$ACTION/cmd/shim/post.js"`},
	{"a new file beside it", `touch "$ACTION/new" && rm "$ACTION/new"`},
	{"the code of another action", `: >>"$ROOT/_actions/o/other/index.js"`},
	{"the state file, read", `cat STATES/*.json`},
	{"the state file, written", `for f in STATES/*.json; do : >>"$f" || exit; done`},
	{"the names of run files", `ls STATES`},
	{"the scripts of the workflow", `for f in STATES/*/scope/*.sh; do chmod u+w "$f" && : >>"$f" || exit; done`},
	{"the run files moved", `mv "$TEMP/raymond" "$TEMP/r" && mv "$TEMP/r" "$TEMP/raymond"`},
	{"files of other steps", `cat "$TEMP/other-step/token"`},
	{"new files for other steps", `touch "$TEMP/new" && rm "$TEMP/new"`},
	{"a command file, read", `test -r "$TEMP/_runner_file_commands/env" && head "$TEMP/_runner_file_commands/env"`},
	{"a command file, written", `: >>"$TEMP/_runner_file_commands/path"`},
	{"a key in the home folder", `cat "$ROOT/home"/.ssh/id`},
	{"a login of git", `cat "$ROOT/home"/.git-credentials`},
	{"the key by a link", `ln -sf "$ROOT/home"/.ssh/id here && cat here`},
	{"the key by its own root", `cat "/proc/self/root$ROOT/home/.ssh/id"`},
	{"the key by a second name", `ln "$ROOT/home"/.ssh/id name && cat name; code=$?; rm -f name; exit $code`},
	{"keys that may log in", `: >>"$ROOT/home"/.ssh/authorized_keys`},
	{"git's settings", `: >>"$ROOT/home"/.gitconfig`},
	{"a start file of shells", `: >>"$ROOT/home"/.bashrc`},
	{"a new start file", `touch "$ROOT/home"/.profile && rm "$ROOT/home"/.profile`},
	{"a start file by a link", `ln -sf "$ROOT/home"/.bashrc shell && : >>shell`},
	{"hooks of the agent CLI", `: >>"$ROOT/home"/.claude/settings.json`},
	{"servers of the agent CLI", `: >>"$ROOT/home"/.claude.json`},
	{"hooks of another agent", `: >>"${CLAUDE_CONFIG_DIR:-$ROOT/home/.claude}"/settings.json`},
	{"a file of the home that nothing names", `cat "$ROOT/home"/notes`},
	{"a file beside the job", `cat "$ROOT/beside"/notes`},
	{"a file of a package cache, linked into the work", `[ "$(stat -c %i linked)" = "$(stat -c %i "$ROOT/home"/.npm/linked)" ]`},
	{"the folder of its settings moved", `mv "$ROOT/home"/.claude "$ROOT/home"/.c && mv "$ROOT/home"/.c "$ROOT/home"/.claude`},
	{"a program on PATH", `touch "$ROOT/bin/git" && rm "$ROOT/bin/git"`},
	{"a socket such as Docker's", `perl -MIO::Socket::UNIX -e 'exit !IO::Socket::UNIX->new("$ENV{ROOT}/docker.sock")'`},
	{"a server on the network", `exec 3<>/dev/tcp/127.0.0.1/PORT`},
	{"a signal for the step", `kill -0 "$RAYMOND"`},
	{"the limits of the step", `prlimit --pid "$RAYMOND" --core=0`},
	{"the priority of the step", `renice -n "$(nice)" -p "$RAYMOND"`},
	{"the processors of the step", `taskset -p "$(taskset -p $$ | sed 's/.*: //')" "$RAYMOND"`},
}

// rootAttacks are attacks that only root can make without a cage.
var rootAttacks = []attack{
	{"the key by another's root", `cat "/proc/$RAYMOND/root$ROOT/home/.ssh/id"`},
	{"the environment of the step", `cat "/proc/$RAYMOND/environ"`},
	{"the memory of the step", `head -c 1 "/proc/$RAYMOND/maps" && : <"/proc/$RAYMOND/mem"`},
	{"a file of the step", `readlink "/proc/$RAYMOND/fd/2"`},
}

// attackScript returns a shell script that runs the attacks and writes the aims of the successful ones to a file.
func attackScript(list []attack) string {
	var b strings.Builder
	b.WriteString("export RAYMOND=$2 TEMP=$RUNNER_TEMP ROOT=$(dirname \"$RUNNER_TEMP\")\n")
	for _, a := range list {
		fmt.Fprintf(&b, "( %s ) >/dev/null 2>&1 </dev/null && echo %q >>\"$ROOT/notes/$1\"\n", a.command, a.aim)
	}
	return b.String() + "exit 0\n"
}

// cagedWorkflow is a workflow that contains each kind of program that runs in a cage: an agent, a check and a script.
const cagedWorkflow = `-- wf/START.md --
---
done_when: ["bash attacks.sh check $PPID"]
---
reply:
<goto>CAGED.sh</goto>
end.
-- wf/CAGED.sh --
bash attacks.sh caged $PPID
echo '<result>done</result>'
`

// createTargets installs the action in a folder as a release does, creates the files and processes
// that attacks aim at, and returns the port of a server.
func (j *bareJob) createTargets() (port string) {
	j.T.Helper()
	action := filepath.Join(j.Root, "actions", "o", "raymond", "v1")
	j.bin = sitetest.Release(j.T, action)
	j.setVariables("RAYMOND_SHIM", filepath.Join(action, "cmd", "shim"), "ACTION", action).withInputs("env", "ACTION", "max-iterations", "9")
	for _, name := range []string{
		"home/.ssh/id", "home/.ssh/authorized_keys", "home/.git-credentials", "home/.gitconfig", "home/.bashrc", "home/.claude/settings.json",
		"home/.claude.json", "home/notes", "home/.npm/linked", "beside/notes", "bin/tool", "_actions/o/other/index.js", "temp/other-step/token",
	} {
		j.Site.Write(filepath.Join(j.Root, name), "secret")
	}
	assert.NilError(j.T, os.Link(filepath.Join(j.Root, "home", ".npm", "linked"), filepath.Join(j.Work, "linked")))
	j.setVariables("PATH", j.Env["PATH"]+":"+filepath.Join(j.Root, "bin"))
	for network, address := range map[string]string{"unix": filepath.Join(j.Root, "docker.sock"), "tcp": "127.0.0.1:0"} {
		l, err := net.Listen(network, address)
		assert.NilError(j.T, err)
		j.T.Cleanup(func() { l.Close() })
		if network == "tcp" {
			_, port, _ = net.SplitHostPort(l.Addr().String())
		}
	}
	return port
}

// TestCageStopsAttacks runs each attack as an agent, as a check and as a script. No attack may succeed in
// a cage, and all must succeed without one.
func TestCageStopsAttacks(t *testing.T) {
	t.Parallel()
	list := attacks
	if os.Getuid() == 0 {
		list = slices.Concat(attacks, rootAttacks)
	}
	for name, inputs := range map[string][]string{"on": nil, "require": {"cage", "require"}, "local": {"store", "local", "state-dir", "STATES"}, "off": {"cage", "off"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, sitetest.NewForge(t), sitetest.Repository(t, cagedWorkflow), 1)
			states := filepath.Join(j.Temp, "raymond", "*")
			if name == "local" {
				states = filepath.Join(j.Root, "states", "o", "*")
				inputs[3] = filepath.Join(j.Root, "states")
			}
			port := j.createTargets()
			j.Site.Write(filepath.Join(j.Work, "attacks.sh"), strings.NewReplacer("STATES", states, "PORT", port).Replace(attackScript(list)))
			notes := j.wrapCLI("bash attacks.sh agent $PPID")
			if name != "off" {
				j.withInputs("network", "none")
			}
			j.withInputs(inputs...).do(0).WantOutputs(t, "status", "completed")
			if name != "off" {
				page := strings.ReplaceAll(sitetest.Read(t, j.CommandFile("GITHUB_STEP_SUMMARY")), `\`, "") // removes the escapes of Markdown characters
				for _, part := range []string{"cage: refused the socket " + filepath.Join(j.Root, "docker.sock"), "127.0.0.1:" + port} {
					assert.Check(t, is.Contains(page, part), "step summary")
				}
			}
			for _, who := range []string{"agent", "check", "caged"} {
				want := []string{}
				for _, a := range list {
					if name == "off" {
						want = append(want, a.aim)
					}
				}
				said, _ := os.ReadFile(filepath.Join(notes, who)) // missing if no attack succeeded
				got := strings.FieldsFunc(string(said), func(r rune) bool { return r == '\n' })
				assert.Check(t, is.DeepEqual(got, want), "attacks by the %s that work", who)
			}
		})
	}
}

// TestParallelAgentsAreSeparated shows that two agents in cages can't reach each other's files and
// processes, which they can without a cage.
func TestParallelAgentsAreSeparated(t *testing.T) {
	t.Parallel()
	repo := sitetest.Repository(t, `-- wf/START.md --
reply:
<fork next="ATTACKER.md">VICTIM.md</fork>
end.
-- wf/VICTIM.md --
reply:
<result>done</result>
end.
-- wf/ATTACKER.md --
reply:
<result>done</result>
end.
`)
	const script = `cd "$(dirname "$RUNNER_TEMP")/notes"
case $RAYMOND_STATE in
*VICTIM*) echo $$ >pid.new; mv pid.new pid; until [ -e done ]; do sleep 0.01; done;;
*ATTACKER*) until [ -e pid ]; do sleep 0.01; done
	read -r victim <pid
	cat /proc/$victim/environ >/dev/null && echo environment >>won
	ls /proc/$victim/cwd/ && echo folder >>won
	kill -0 $victim && echo signal >>won
	prlimit --pid $victim --core=0 && echo limit >>won
	touch done;;
esac
cd "$GITHUB_WORKSPACE"`
	for mode, want := range map[string]string{"on": "", "off": "environment\nfolder\nsignal\nlimit\n"} {
		t.Run("cage "+mode, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, sitetest.NewForge(t), repo, 1).withInputs("cage", mode)
			notes := j.wrapCLI(script)
			j.do(0)
			assert.Assert(t, sitetest.Exists(filepath.Join(notes, "done")), "the attacker did not come to its end")
			got, _ := os.ReadFile(filepath.Join(notes, "won"))
			assert.Check(t, is.Equal(string(got), want), "what one agent reaches of another with cage: %s", mode)
		})
	}
}
