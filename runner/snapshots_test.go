package runner_test

import (
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// slowSnapshots is a runner.Snapshots whose snapshots take some time.
type slowSnapshots struct {
	lasts    time.Duration
	requests []runner.SnapshotRequest
}

// Take implements runner.Snapshots.
func (s *slowSnapshots) Take(shot runner.SnapshotRequest) <-chan struct{} {
	s.requests = append(s.requests, shot)
	done := make(chan struct{})
	time.AfterFunc(s.lasts, func() { close(done) })
	return done
}

// Notes implements runner.Snapshots.
func (s *slowSnapshots) Notes() []string { return []string{"note"} }

// TestPromptsWaitForSnapshot checks that a prompt waits for the snapshot after the previous prompt,
// and that failed snapshots are reported.
func TestPromptsWaitForSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{"A": "<goto>B</goto>", "B": "transient!once\n<goto>C</goto>", "C": "fatal!no such model"}, nil)
		l.answers["B.md"] = []string{"transient!once", "<goto>C</goto>"}
		s := &slowSnapshots{lasts: 5 * time.Second}
		l.cfg.Snapshots = s
		l.drive(false, state.Failed)
		dir := l.run.Dir
		same(t, "snapshots", []runner.SnapshotRequest{
			{Exec: 1, Agent: "main", State: "A.md", Dir: dir}, {Exec: 2, Agent: "main", State: "B.md", Dir: dir},
			{Exec: 3, Agent: "main", State: "C.md", Dir: dir},
		}, s.requests)
		var at []time.Duration
		for _, b := range l.began {
			at = append(at, b.Sub(l.began[0]).Round(time.Second))
		}
		// B begins when the snapshot after A is complete, and is retried a second later; C waits
		// for the snapshot after B.
		same(t, "notes", []string{"note", "note", "note"}, l.log.notes)
		same(t, "invocations", []time.Duration{0, 6 * time.Second, 8 * time.Second, 14 * time.Second}, at)
	})
}

// TestConcurrentAgentsShareFolder checks that snapshots record whether another agent worked in
// the folder at the same time.
func TestConcurrentAgentsShareFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, flow{
			"A": "<fork next=\"B\">W</fork>", "B": "<goto>C</goto>", "C": "<goto>D</goto>",
			"D": "<result>done</result>",
			"W": "<result>w</result>",
		}, func(o *state.Options) { o.MaxParallel = 2 })
		s := &slowSnapshots{}
		l.cfg.Snapshots = s
		l.drive(false, state.Completed)
		shared := map[string]bool{}
		for _, shot := range s.requests {
			shared[shot.State] = shot.IsShared
		}
		// C may begin in the moment in which W ends.
		assert.Check(t, is.DeepEqual([]bool{shared["A.md"], shared["B.md"], shared["W.md"], shared["D.md"]}, []bool{false, true, true, false}), "shared: got %v, want B and W alone", shared)
	})
}
