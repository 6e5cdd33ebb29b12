//go:build linux

package action_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// spoils are what a hostile program reaches for, each with the command that gets it.
var spoils = []struct{ name, command string }{
	{"the folder of the step", `touch "$RUNNER_TEMP/raymond/build-__run-1/x"`},
	{"a command file", `cat "$COMMANDS"`},
	{"the next step's PATH", `echo /evil >>"$COMMANDS"`},
	{"the program above it", `kill -0 "$(above)"`},
	{"a socket like Docker's", `node -e 'require("net").connect(process.env.SOCKET).on("connect", () => process.exit(0)).on("error", () => process.exit(1))'`},
	{"a server on the network", `node -e 'require("net").connect(process.env.PORT, "127.0.0.1").on("connect", () => process.exit(0)).on("error", () => process.exit(1))'`},
}

// above finds the process of the program among those above a shell.
const above = `above() {
	local pid=$$
	until [ "$(cat "/proc/$pid/comm")" = raymond ]; do pid=$(cut -d ' ' -f 4 "/proc/$pid/stat"); done
	echo "$pid"
}
`

// reachForAll is a script that tries all of them.
func reachForAll() string {
	var b strings.Builder
	b.WriteString("who=$1\n" + above)
	for _, s := range spoils {
		fmt.Fprintf(&b, "if (%s) >/dev/null 2>&1; then echo \"$who: %s\" >>\"$NOTES/loot\"; fi\n", s.command, s.name)
	}
	return b.String() + "echo \"$who was here\" >>\"$NOTES/loot\"\n"
}

// reaching is a workflow in which an agent, a command of done_when and a caged script
// try them.
const reaching = `-- attack.sh --
ATTACK-- wf/START.md --
---
done_when: ['bash attack.sh command']
---
reply:
<goto>CHECK.sh</goto>
end.
-- wf/CHECK.sh --
# raymond: cage=true
bash attack.sh script
echo '<result>done</result>'
`

// reachingJob is a job with all that there is to reach.
func reachingJob(t *testing.T) *bareJob {
	t.Helper()
	repo := acttest.Repository(t, strings.Replace(reaching, "ATTACK", reachForAll(), 1))
	j := newJob(t, sitetest.NewForge(t), repo, 1)
	sockets, notes := t.TempDir(), filepath.Join(j.root, "notes")
	listener, err := net.Listen("unix", filepath.Join(sockets, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	_, port, _ := strings.Cut(server.Listener.Addr().String(), ":")
	j.set("SOCKET", listener.Addr().String(), "PORT", port, "NOTES", notes, "COMMANDS", j.commandFile("GITHUB_PATH")).
		with("env", "SOCKET PORT NOTES COMMANDS", "workflow", "wf")
	j.wrapped("bash attack.sh agent")
	return j
}

// got is what the attackers got.
func (j *bareJob) got() []string {
	return strings.Split(strings.TrimSpace(j.read(filepath.Join(j.root, "notes", "loot"))), "\n")
}

// wantPage checks that the step summary has each of some texts.
func (j *bareJob) wantPage(parts ...string) {
	j.t.Helper()
	page := strings.ReplaceAll(j.read(j.commandFile("GITHUB_STEP_SUMMARY")), `\`, "") // nothing in it is Markdown
	for _, part := range parts {
		if !strings.Contains(page, part) {
			j.t.Errorf("step summary: got %s, want %q in it", page, part)
		}
	}
}

// TestAgentsInACageReachNobody: neither the runner, nor the program, nor servers; and
// neither do the commands that check their work and scripts that run what they wrote.
// Without a cage the same attack reaches all of them.
func TestAgentsInACageReachNobody(t *testing.T) {
	t.Parallel()
	everybody := []string{"agent", "command", "script"}
	var all, here []string
	for _, who := range everybody {
		here = append(here, who+" was here")
		for _, s := range spoils {
			all = append(all, who+": "+s.name)
		}
	}
	t.Run("without", func(t *testing.T) {
		t.Parallel()
		j := reachingJob(t).with("cage", "off", "cage-write", "")
		j.start().Wait()
		for _, want := range append(all, here...) {
			if got := j.got(); !slices.Contains(got, want) {
				t.Errorf("without a cage: got %q, want %q, or else the attack is worth nothing", got, want)
			}
		}
	})
	for _, mode := range []string{"on", "require"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			j := reachingJob(t).with("cage", mode, "network", "none")
			j.do(0)
			if got := j.got(); strings.Join(got, "\n") != strings.Join(here, "\n") {
				t.Errorf("in a cage: got %q, want %q alone", got, here)
			}
			j.wantPage("cage: refused the socket "+j.env["SOCKET"], "127.0.0.1:"+j.env["PORT"])
		})
	}
}

// TestRefusalsNameTheInput, once, in log and page.
func TestRefusalsNameTheInput(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "built")
	repo := acttest.Repository(t, "-- wf/START.md --\n---\ndone_when: ['echo x >"+outside+"']\nmax_attempts: 2\nbackoff: none\n---\nreply:\n<result>done</result>\nend.\n")
	j := newJob(t, sitetest.NewForge(t), repo, 1).with("claude-path", sitetest.Stub.Path(t))
	e := j.do(1)
	want := "cage: refused to write " + outside + "; if it is needed, add its folder to input cage-write"
	if n := strings.Count(e.Stdout, want); n != 1 {
		t.Errorf("log: got the refusal %d times, want once\n%v", n, e)
	}
	j.wantPage("cage: refused to write " + outside)
	j.with("cage-write", filepath.Dir(outside), "resume", "never", "key", "again").do(0)
}

// TestSudoAndACageExcludeEachOther: who gains privileges can leave it.
func TestSudoAndACageExcludeEachOther(t *testing.T) {
	t.Parallel()
	repo := acttest.Repository(t, oneScript)
	for _, input := range []string{"cage", "network"} {
		value := map[string]string{"cage": "require", "network": "github"}[input]
		e := newJob(t, nil, repo, 1).with("allow-sudo", "true", input, value).do(problem.ExitCodes[problem.ClassUsage])
		e.wantSays(t, "error", "input "+input, "allow-sudo")
	}
	e := newJob(t, sitetest.NewForge(t), repo, 1).with("allow-sudo", "true").do(0)
	if n := len(e.texts("warning")); n != 1 {
		t.Errorf("warnings: got %q, want one", e.texts("warning"))
	}
}

// TestTheTemporaryFolderInACage: the payload of the event can be read, a
// folder of the run's own is there and gone at the end.
func TestTheTemporaryFolderInACage(t *testing.T) {
	t.Parallel()
	repo := acttest.Repository(t, `-- wf/START.sh --
# raymond: cage=true
set -e
cat "$GITHUB_EVENT_PATH" >/dev/null
test "$(dirname "$(mktemp)")" = "$TMPDIR"
echo "$TMPDIR" >tmpdir; echo '<result>done</result>'
`)
	j := newJob(t, sitetest.NewForge(t), repo, 1)
	j.do(0)
	dir := strings.TrimSpace(j.read(filepath.Join(j.work, "tmpdir")))
	if _, err := os.Lstat(dir); err == nil || filepath.Dir(dir) != j.temp {
		t.Errorf("TMPDIR: got %q, still there: %v; want one of the run's own below %s that is gone", dir, err == nil, j.temp)
	}
}
