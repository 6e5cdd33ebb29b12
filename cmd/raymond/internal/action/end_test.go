//go:build linux

package action_test

import (
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// never is the number of a failpoint that a short run does not come to.
const never = 64

// TestAKillAfterTheEndLosesNoEvent kills a job when the end of its run is on disk,
// and not yet told: the post part tells it, and stores it.
func TestAKillAfterTheEndLosesNoEvent(t *testing.T) {
	t.Parallel()
	repo := acttest.Repository(t, "-- wf/START.sh --\necho start >>\"$SIDE_EFFECTS\"; echo '<goto>END.sh</goto>'\n"+
		"-- wf/END.sh --\necho end >>\"$SIDE_EFFECTS\"; echo '<result>done</result>'\n")
	chain := func(n int) (k *killChain, j *bareJob, killed bool) {
		k = &killChain{t: t, forge: sitetest.NewForge(t), repo: repo, effects: filepath.Join(t.TempDir(), "effects"), result: "done"}
		j = k.next()
		return k, j, k.runs(j, n)
	}
	k, j, _ := chain(never)
	whole, _ := k.trace(j)
	if len(whole.Events) < 6 {
		t.Fatalf("events of an undisturbed run: got %q, want more", whole.Events)
	}
	// The saves beside the run don't come at the same moments each time.
	const margin = 4
	passes := sort.Search(never, func(n int) bool { _, _, killed := chain(1 + n); return !killed })
	for try := range 10 * margin {
		n := max(1, passes-margin+try%(2*margin+1))
		k, j, killed := chain(n)
		got, completed := k.trace(j)
		if !killed || !completed {
			continue // there are not as many failpoints, or the end was not on disk
		}
		if d := cmp.Diff(whole, got); d != "" {
			t.Errorf("killed at failpoint %d (-undisturbed +got):\n%s", n, d)
		}
		return
	}
	t.Fatalf("failpoints from %d to %d: got no kill with the end on disk", passes-margin, passes+margin)
}

// TestPostIsNotSilentAboutARunThatItCannotStore: when what the step was given has
// changed since its main part, the run stays on the machine, and people are told.
func TestPostIsNotSilentAboutARunThatItCannotStore(t *testing.T) {
	t.Parallel()
	k := newKillChain(t, "")
	j := k.next()
	if o := j.set(sitetest.KillVar, "5").start().Wait(); o.Code != -1 {
		t.Fatalf("main part, to be killed: got %v", o)
	}
	j.set(sitetest.KillVar, "").with("budget", "NaN")
	if e := j.end(j.command("action-post")); e.Code != problem.ExitCodes[problem.ClassUsage] || !strings.Contains(e.Stderr, "input budget") {
		t.Errorf("post: got %v, want the fault of the input", e)
	}
}

// TestALongStateDoesNotKeepAnEndedOneFromBeingStored: what has ended is stored an
// interval later, and not only when the next state has ended too.
func TestALongStateDoesNotKeepAnEndedOneFromBeingStored(t *testing.T) {
	t.Parallel()
	f := sitetest.NewForge(t)
	repo := acttest.Repository(t, "-- wf/1_START.sh --\necho '<goto>LONG.sh</goto>'\n"+
		"-- wf/LONG.sh --\nuntil [ -e \"$FLAG\" ]; do sleep 0.05; done; echo '<result>done</result>'\n")
	flag := filepath.Join(t.TempDir(), "flag")
	j := newJob(t, f, repo, 540).set("FLAG", flag).with("script-env", "FLAG", "checkpoint-interval", "1s")
	c := j.start()
	c.Until("a checkpoint while LONG.sh is under way", func() bool { return len(f.Checkpoints(t, nil)) > 0 })
	if got := f.Checkpoints(t, nil)[0].Run.Agents; len(got) != 1 || got[0].State != "LONG.sh" {
		t.Errorf("agents in the checkpoint: got %+v, want one in LONG.sh", got)
	}
	j.site.Write(flag, "")
	j.end(c).wantOutputs(t, "status", "completed", "result", "done")
}
