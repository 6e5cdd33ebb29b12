//go:build linux

package runnertest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/state"
)

// busy is a workflow that runs until it is cancelled: an agent that uses a
// tool, and a script with a daemon that has left its session. With a file "go" in
// $KEEP both come to their end, if the work from before is there. What runs writes
// its process id to $KEEP.
const busy = `
-- flow/1_START.sh --
echo "$RUNNER_TEMP" >"$KEEP/temp"
echo edited >notes.txt
git -c user.name=Agent -c user.email=agent@example.com commit -q --allow-empty -m unpushed
echo '<fork next="TALK.md">STAY.sh</fork>'
-- flow/TALK.md --
log: talk
reply:
<goto>WORK.md</goto>
end.
-- flow/WORK.md --
log: work
reply:
<result>worked</result>
end.
-- flow/STAY.sh --
if [ -e "$KEEP/go" ]; then
	[ "$(git log -1 --format=%s) $(cat notes.txt)" = 'unpushed edited' ] && echo '<result>stayed</result>'
	exit
fi
setsid sh -c 'echo $$ >"$KEEP/pid-daemon"; exec sleep 300' >/dev/null 2>&1 &
echo $$ >"$KEEP/pid-script"
while :; do sleep 0.1; done
`

// again is a workflow file of two jobs: the second resumes what the first was
// doing when it was cancelled.
func again(with string) string {
	job := func(name, more string) string {
		return fmt.Sprintf("  %s:\n%s    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v4\n", name, more) +
			"      - id: raymond\n        uses: " + actionName + "\n        with: {workflow: flow, key: shared, script-env: KEEP, " + with + "}\n"
	}
	return "-- " + workflowFile + " --\non: workflow_dispatch\njobs:\n" + job("one", "") + job("two", "    needs: one\n    if: always()\n")
}

// cancelling is how the runner of GitHub cancels a step: the signals that its
// process gets, and how long it may live after each.
var cancelling = []struct {
	signal syscall.Signal
	wait   time.Duration
}{{syscall.SIGINT, 7500 * time.Millisecond}, {syscall.SIGTERM, 2500 * time.Millisecond}, {syscall.SIGKILL, sitetest.Patience}}

// cancel cancels the step that is running as the runner of GitHub does, and calls
// watch now and then until its process is gone. It returns how long that took.
func cancel(t testing.TB, pid int, watch func(since time.Duration)) time.Duration {
	t.Helper()
	w := newStopwatch()
	defer w.beat.Stop()
	for _, c := range cancelling {
		if err := syscall.Kill(pid, c.signal); err != nil {
			t.Errorf("%v: %v", c.signal, err)
		}
		for end := w.ran + c.wait; sitetest.Alive(pid) && w.ran < end; w.tick() {
			watch(w.ran)
		}
		if !sitetest.Alive(pid) {
			return w.ran
		}
		t.Errorf("process of the step: got it alive %v after %v, want it gone", c.wait, c.signal)
	}
	t.Fatal("process of the step: got it alive after SIGKILL")
	return 0
}

// stopwatch tells how long the machine has run: while it stands still, or has no time for this
// test, the step has none either.
type stopwatch struct {
	beat *time.Ticker
	last time.Time
	ran  time.Duration
}

func newStopwatch() *stopwatch {
	return &stopwatch{beat: time.NewTicker(2 * time.Millisecond), last: time.Now()}
}

// tick waits a moment.
func (w *stopwatch) tick() {
	<-w.beat.C
	now := time.Now()
	w.ran += min(now.Sub(w.last), 50*time.Millisecond)
	w.last = now
}

// keep is a file in $KEEP.
func (c *consumer) keep(name string) string { return filepath.Join(c.Env["KEEP"], name) }

// pids waits until the processes of busy run, and returns their ids.
func (c *consumer) pids(r *acttest.Running, names ...string) []int {
	c.t.Helper()
	var pids []int
	r.Until("the processes of the workflow", func(*acttest.Result) bool {
		pids = nil
		for _, name := range names {
			data, _ := os.ReadFile(c.keep("pid-" + name)) // not there yet, or not yet written
			if pid, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
				pids = append(pids, pid)
			}
		}
		return len(pids) == len(names)
	})
	return pids
}

// wantGone checks that none of the processes is alive.
func wantGone(t testing.TB, when string, pids []int) {
	t.Helper()
	if left := slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return !sitetest.Alive(pid) }); len(left) > 0 {
		t.Errorf("processes of the workflow %s: got %s\nwant none", when, sitetest.Describe(left))
	}
}

// stateFolder is where the first job keeps its state.
func (c *consumer) stateFolder() string {
	c.t.Helper()
	temp, err := os.ReadFile(c.keep("temp"))
	if err != nil {
		c.t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(temp)), "raymond", "one-raymond-1")
}

// steps returns the number of steps that the first job has committed, by all of
// its files, or by the state file without the journal.
func (c *consumer) steps(whole bool) int {
	c.t.Helper()
	ids, err := state.List(c.stateFolder())
	if err != nil || len(ids) != 1 {
		return 0 // the job is over
	}
	run, err := state.Read(c.stateFolder(), ids[0])
	if !whole {
		data, _ := os.ReadFile(filepath.Join(c.stateFolder(), ids[0]+".json")) // the job may be over
		run, err = state.Decode(data)
	}
	if err != nil {
		return 0
	}
	return run.Progress.Seq
}

// wantCancelled cancels the step that runs as GitHub does, and checks how fast
// and how well it leaves.
func (c *consumer) wantCancelled(r *acttest.Running, pids []int) {
	c.t.Helper()
	before, saved := c.steps(true), time.Duration(-1)
	if n := c.steps(false); n >= before {
		c.t.Errorf("state file before the cancel: got step %d, want less than the %d of the journal", n, before)
	}
	took := cancel(c.t, r.StepProcess(), func(since time.Duration) {
		if saved < 0 && c.steps(false) >= before {
			saved = since
		}
	})
	wantGone(c.t, "when its step has left", pids)
	if saved < 0 || saved > sitetest.SavedWithin {
		c.t.Errorf("state on disk: got it after %v, want within %v", saved, sitetest.SavedWithin)
	}
	if took > sitetest.LeavesWithin {
		c.t.Errorf("end of the step: got it after %v, want within %v", took, sitetest.LeavesWithin)
	}
	c.t.Logf("state after %v, end after %v", saved, took)
}

func (c *consumer) letGo() {
	c.t.Helper()
	if err := os.WriteFile(c.keep("go"), nil, 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// TestCancelledStepLeavesAndIsResumed has the real CLI with a tool, and a daemon.
func TestCancelledStepLeavesAndIsResumed(t *testing.T) {
	t.Parallel()
	api := claudetest.NewServer(t,
		claudetest.On("log: talk", claudetest.Say("<goto>WORK.md</goto>")),
		claudetest.Rule{
			Match: "log: work", FailFirst: 1, Fail: claudetest.Do(claudetest.Bash(`echo $$ >"$KEEP/pid-tool"; sleep 300`)),
			Steps: []claudetest.Reply{claudetest.Say("<result>worked</result>")},
		},
	)
	c := newConsumer(t, busy+again("anthropic-api-key: dummy-key-123456, allowed-tools: Bash, env: KEEP "+sitetest.CLIEnv))
	c.real(api)
	r := c.start(nil)
	pids := c.pids(r, "tool", "script", "daemon")
	c.letGo()
	c.wantCancelled(r, pids)
	res := c.wait(r)
	one := wantStep(t, res, "one", "raymond", "failure", map[string]string{"status": "cancelled", "resumable": "true", "error-class": "cancelled"})
	wantStep(t, res, "two", "raymond", "success", map[string]string{"result": "worked", "workflow-id": one.Outputs["workflow-id"]})
	want := sitetest.Spoken(c.file("flow/TALK.md"), "<goto>WORK.md</goto>", c.file("flow/WORK.md"))
	if got := sitetest.InterruptionNote.ReplaceAllString(sitetest.Seen(t, api, "log: work"), ""); got != want {
		t.Errorf("in the second job the model saw\n%swant\n%s", got, want)
	}
}

// wantFinished checks that the second job has finished what the first began.
func (c *consumer) wantFinished(res *acttest.Result) {
	c.t.Helper()
	if post := res.Post("one", "raymond"); post == nil || post.Result != "success" {
		c.t.Errorf("post of the first job: got %s\nwant success", shown(res))
	}
	wantStep(c.t, res, "two", "raymond", "success", map[string]string{"result": "worked", "status": "completed"})
}

// TestKilledStepIsStoredByPost has the runner's last means at once, for a shim
// that became the program and for one that accompanies it.
func TestKilledStepIsStoredByPost(t *testing.T) {
	t.Parallel()
	for name, shim := range map[string]struct {
		options, process string
		status           state.Status // of the run that is stored
	}{
		"node that becomes the program": {"", "raymond", state.Running},
		// The program is left alone then, and ends as after a signal.
		"node that starts it": {withoutExecve(t), "node", state.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newConsumer(t, busy+again("env: SIDE_EFFECTS"))
			c.Env["NODE_OPTIONS"] = shim.options
			r := c.start(nil)
			pids := c.pids(r, "script", "daemon")
			c.letGo()
			pid := r.StepProcess()
			if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil || !strings.HasPrefix(filepath.Base(exe), shim.process) {
				t.Errorf("process of the step: got %s (%v), want %s", exe, err, shim.process)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			r.Until("the end of the post part", func(now *acttest.Result) bool {
				post := now.Post("one", "raymond")
				return post != nil && post.Result != ""
			})
			wantGone(t, "after the post part", pids)
			res := c.wait(r)
			if got := c.stored(nil)[1:]; !slices.ContainsFunc(got, func(s sitetest.StoredRun) bool { return s.Manifest.Status == shim.status }) {
				t.Errorf("checkpoints before the last: got %v, want one that is %s\n%s", got, shim.status, shown(res))
			}
			c.wantFinished(res)
		})
	}
}

// withoutExecve are options with which node is as it was before it could become
// a program.
func withoutExecve(t testing.TB) string {
	t.Helper()
	hide := filepath.Join(t.TempDir(), "hide.cjs")
	if err := os.WriteFile(hide, []byte("delete process.execve;\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return "--require " + hide
}
