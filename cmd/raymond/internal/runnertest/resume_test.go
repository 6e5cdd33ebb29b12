//go:build linux

package runnertest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/state"
)

// edited is a workflow that leaves work of every kind in the checkout and in a
// worktree of its worker, and then waits for $HOLD seconds, during which the
// deadline comes. FACTS.sh and SIDE.sh tell what the next job has.
const edited = `
-- tracked.txt --
one
-- other.txt --
two
-- gone.txt --
three
-- facts.sh --
git symbolic-ref HEAD
git log --format='%H %an %s'
git status --porcelain=v2 --untracked-files=all
git diff
git diff --cached
git stash list
find . -name .git -prune -o -type f -perm -100 -printf '%P runs\n' -o -type f -printf '%P\n' -o -type l -printf '%P -> %l\n' | sort
git ls-files --others --exclude-standard | xargs cat
-- flow/1_START.sh --
set -e
git() { command git -c user.name=Agent -c user.email=agent@example.com "$@"; }
git switch -q -c work
echo committed >>tracked.txt
git commit -qam 'unpushed one'
echo new >new.txt
git add new.txt
git commit -qm 'unpushed two'
echo staged >>tracked.txt
git rm -q gone.txt
git add tracked.txt
echo unstaged >>tracked.txt
echo unstaged >other.txt
mkdir -p dir
echo untracked >dir/untracked.txt
ln -s untracked.txt dir/link
chmod +x dir/untracked.txt
git worktree add -q -b side-work "$SIDE" HEAD~1
sh facts.sh >"$KEEP/before-main"
cd "$SIDE"
echo side >side.txt
git add side.txt
git commit -qm 'unpushed side'
echo edited >>side.txt
echo loose >loose.txt
sh facts.sh >"$KEEP/before-side"
echo "<fork next=\"PLAN.md\" cd=\"$SIDE\">WORKER.md</fork>"
-- flow/PLAN.md --
log: planning
reply:
<goto>HOLD.sh</goto>
end.
-- flow/HOLD.sh --
sleep "$HOLD"
echo '<goto>MORE.md</goto>'
-- flow/WORKER.md --
log: working
reply:
<goto>WAIT.sh</goto>
end.
-- flow/WAIT.sh --
sleep "$HOLD"
echo '<goto>AGAIN.md</goto>'
-- flow/MORE.md --
log: more
reply:
<goto>FACTS.sh</goto>
end.
-- flow/AGAIN.md --
log: again
reply:
<goto>SIDE.sh</goto>
end.
-- flow/FACTS.sh --
sh facts.sh >"$KEEP/after-main"
echo '<result>all done</result>'
-- flow/SIDE.sh --
sh facts.sh >"$KEEP/after-side"
echo '<result>side done</result>'
`

// handed is how a run gets from one job to the next.
type handed struct {
	uses string // how the action is named
	side string // where the worktree of the worker is
	hold int    // seconds after which the first job suspends
	with string // more inputs
}

// jobs is a workflow file whose second job needs the first. Each has a folder of
// its own for the agent CLI.
func (h handed) jobs(t testing.TB) string {
	t.Helper()
	job := func(name, more, with string) string {
		return fmt.Sprintf("  %s:\n%s    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v4\n", name, more) +
			fmt.Sprintf("      - id: raymond\n        uses: %s\n        with: {workflow: flow, key: shared, script-env: KEEP SIDE HOLD, %s%s}\n", h.uses, h.with, with) +
			fmt.Sprintf("        env: {CLAUDE_CONFIG_DIR: %s, SIDE: '%s', HOLD: %d}\n", t.TempDir(), h.side, h.hold) + keepState
	}
	return "-- " + workflowFile + " --\non: workflow_dispatch\njobs:\n" +
		job("one", "", fmt.Sprintf(", deadline: %ds", h.hold)) + job("two", "    needs: one\n", "")
}

// wantHandedOver runs both jobs and checks everything that does not depend on
// what the agent CLI is.
func (c *consumer) wantHandedOver() {
	c.t.Helper()
	r := c.run(nil)
	one := wantStep(c.t, r, "one", "raymond", "success", map[string]string{"status": "suspended", "resumable": "true", "error-class": "suspended"})
	two := wantStep(c.t, r, "two", "raymond", "success", map[string]string{
		"status": "completed", "result": "all done", "iterations": "9", "workflow-id": one.Outputs["workflow-id"],
	})
	c.wantSameWork("main")
	c.wantSameWork("side")
	c.wantContinued("one", "two")
	c.wantCosts(one, two, 4)
}

// TestSecondJobResumesWhatTheFirstLeft has the real CLI, which keeps nothing
// between the two jobs, and a worktree outside of all folders of the job.
func TestSecondJobResumesWhatTheFirstLeft(t *testing.T) {
	t.Parallel()
	api := claudetest.NewServer(t,
		claudetest.On("log: planning", claudetest.Say("I plan. <goto>HOLD.sh</goto>")),
		claudetest.On("log: working", claudetest.Say("I work. <goto>WAIT.sh</goto>")),
		claudetest.On("log: more", claudetest.Say("<goto>FACTS.sh</goto>")),
		claudetest.On("log: again", claudetest.Say("<goto>SIDE.sh</goto>")),
	)
	h := handed{
		uses: actionName, side: "${{ github.workspace }}/../side", hold: 5,
		with: "anthropic-api-key: dummy-key-123456, env: " + sitetest.CLIEnv,
	}
	c := newConsumer(t, edited+h.jobs(t))
	c.real(api)
	c.wantHandedOver()
	for prompt, want := range map[string]string{
		"log: more":  sitetest.Spoken(c.file("flow/PLAN.md"), "I plan. <goto>HOLD.sh</goto>", c.file("flow/MORE.md")),
		"log: again": sitetest.Spoken(c.file("flow/WORKER.md"), "I work. <goto>WAIT.sh</goto>", c.file("flow/AGAIN.md")),
	} {
		if got := sitetest.Seen(t, api, prompt); got != want {
			t.Errorf("%s: the model saw\n%swant\n%s", prompt, got, want)
		}
	}
}

// TestActionOfTheCheckoutResumesASealedRun has the action in the repository
// itself, an encrypted checkpoint in a public repository, and a worktree below the
// runner's temporary folder.
func TestActionOfTheCheckoutResumesASealedRun(t *testing.T) {
	t.Parallel()
	h := handed{
		uses: "./", side: "${{ runner.temp }}/side", hold: 4,
		with: "env: SIDE_EFFECTS, state-key: '${{ secrets.STATE_KEY }}'",
	}
	c := newConsumer(t, "-- .gitignore --\n/action.yml\n/cmd/\n"+edited+h.jobs(t))
	if err := os.CopyFS(c.Repo, os.DirFS(releaseFolder(t))); err != nil {
		t.Fatal(err)
	}
	key := sitetest.NewStateKey(t)
	c.Payload, c.Secrets = strings.Replace(privatePayload, "true", "false", 1), map[string]string{"STATE_KEY": key}
	c.wantHandedOver()
	before := map[string]string{"more": "log: planning", "again": "log: working"}
	for _, line := range c.effects() {
		var said struct {
			Text   string
			Before []string
		}
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			t.Fatal(err)
		}
		if want := before[said.Text]; want != "" && (len(said.Before) == 0 || said.Before[0] != "user: "+want) {
			t.Errorf("conversation of %q: got %q before it, want %q first", said.Text, said.Before, want)
		}
		delete(before, said.Text)
	}
	if len(before) > 0 {
		t.Errorf("prompts: got %q, want also those of %v", c.effects(), before)
	}
	keys, err := checkpoint.ParseKeys(key)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(c.stored(keys)); n == 0 || n > 3 {
		t.Errorf("sealed checkpoints: got %d, want one to three", n)
	}
}

// file is a file of the repository.
func (c *consumer) file(name string) string {
	c.t.Helper()
	data, err := os.ReadFile(filepath.Join(c.Repo, filepath.FromSlash(name)))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(data)
}

// wantSameWork compares what facts.sh told of a worktree in the first job and in
// the second.
func (c *consumer) wantSameWork(of string) {
	c.t.Helper()
	facts := func(when string) string {
		data, err := os.ReadFile(filepath.Join(c.Env["KEEP"], when+"-"+of))
		if err != nil || len(data) == 0 {
			c.t.Errorf("facts of %s: got %q (%v), want some", of, data, err)
		}
		return string(data)
	}
	if diff := cmp.Diff(facts("before"), facts("after")); diff != "" {
		c.t.Errorf("work in %s (-first job +second job):\n%s", of, diff)
	}
}

// wantContinued checks that the log of one job continues where that of another
// ended. That the last checkpoint was stored is no part of that checkpoint.
func (c *consumer) wantContinued(from, to string) {
	c.t.Helper()
	first, second := c.keptEvents(from), c.keptEvents(to)
	for len(first) > 0 {
		if _, ok := first[len(first)-1].Body.(*state.Checkpoint); !ok {
			break
		}
		first = first[:len(first)-1]
	}
	if diff := cmp.Diff(first, second[:min(len(first), len(second))]); diff != "" {
		c.t.Errorf("log of job %s, as job %s continues it (-want +got):\n%s", from, to, diff)
	}
	for i, e := range second {
		if e.Seq != i+1 {
			c.t.Errorf("event %d of job %s: got seq %d, want %d", i, to, e.Seq, i+1)
			break
		}
	}
	if len(second) <= len(first) {
		c.t.Fatalf("log of job %s: got %d events, want more than the %d of job %s", to, len(second), len(first), from)
	}
	if b, ok := second[len(first)].Body.(*state.RunStarted); !ok || !b.Resumed {
		c.t.Errorf("first event of job %s: got %+v, want run_started, resumed", to, second[len(first)])
	}
}

// wantCosts checks that the costs of n invocations add up over two steps.
func (c *consumer) wantCosts(one, two *acttest.Step, n int) {
	c.t.Helper()
	var sum state.USD
	entries := 0
	for _, e := range c.keptEvents(two.Job) {
		if b, ok := e.Body.(*state.StateFinished); ok && b.CostUSD > 0 {
			sum += b.CostUSD
			entries++
		}
	}
	before, err := state.ParseUSD(one.Outputs["cost-usd"])
	if err != nil || before <= 0 || before >= sum || entries != n {
		c.t.Errorf("costs: got $%s (%v) after the first job and %d states of $%s in all, want %d and more than in the first", before, err, entries, sum, n)
	}
	if got := two.Outputs["cost-usd"]; got != sum.String() {
		c.t.Errorf("cost-usd of the second job: got %s, want %s, which is that of all states", got, sum)
	}
}
