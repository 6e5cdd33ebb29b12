//go:build linux && world

package acttest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/state"
)

// busy is a workflow that runs until it is killed: an agent, and a script with a daemon that
// has left its session. With a file "go" in $KEEP both come to their end, if the work from
// before is there. What runs writes its process id to $KEEP. The second of two jobs resumes
// what the first has left.
const busy = `
-- .github/workflows/w.yml --
on: workflow_dispatch
jobs:
  one:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - id: raymond
        uses: acme/raymond-action@v1
        with: {workflow: flow, key: shared, env: 'SIDE_EFFECTS, KEEP'}
  two:
    needs: one
    if: always()
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - id: raymond
        uses: acme/raymond-action@v1
        with: {workflow: flow, key: shared, env: 'SIDE_EFFECTS, KEEP'}
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
sleep 300
`

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
			c := newConsumer(t, busy)
			c.Env["NODE_OPTIONS"] = shim.options
			r := c.start()
			pids := c.pids(r, "script", "daemon")
			if err := os.WriteFile(c.keep("go"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
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
			if left := slices.DeleteFunc(pids, func(pid int) bool { return !sitetest.Alive(pid) }); len(left) > 0 {
				t.Errorf("processes of the workflow after the post part: got %s\nwant none", sitetest.Describe(left))
			}
			res := r.Wait()
			if got := c.stored()[1:]; !slices.ContainsFunc(got, func(s sitetest.StoredRun) bool { return s.Manifest.Status == shim.status }) {
				t.Errorf("checkpoints before the last: got %v, want one that is %s\n%s", got, shim.status, res)
			}
			if post := res.Post("one", "raymond"); post == nil || post.Result != "success" {
				t.Errorf("post of the first job: got %v\nwant success", res)
			}
			res.WantStep(t, "two/raymond", "success", "result", "worked", "status", "completed")
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
