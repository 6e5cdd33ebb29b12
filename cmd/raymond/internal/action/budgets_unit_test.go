package action

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// TestLogIsCompletedAfterAKill checks that the post phase adds to the event log everything that the
// killed main phase had saved, even if the log ends with an event that was never saved, for example
// agent output.
func TestLogIsCompletedAfterAKill(t *testing.T) {
	j, s := &Job{options: &options.Options{}}, &scratch{log: newLog(nil, false), note: &postNote{}}
	s.state = t.TempDir()
	run := state.New(state.Run{WorkflowID: "r", Mark: "m", Entry: "START.sh", Dir: s.state, Files: map[string]string{"START.sh": strings.Repeat("0", 64)}}, "", time.Now())
	store, err := journal.Create(s.state, run.WorkflowID, "test")
	assert.NilError(t, err)
	defer store.Close()
	step := run.Step(time.Now())
	step.Begin()
	d := step.Delta()
	assert.NilError(t, store.WriteSnapshot(run.With(d), d, nil))
	run = run.With(d)
	run.Agents[0].Status, run.Agents[0].Exec = state.Busy, &state.Exec{Iteration: 1, Attempt: 1, Running: &state.Invocation{Mode: state.Fresh, SessionID: "s"}}
	log, err := session.OpenLog(s.run("r"), run, nil, nil)
	assert.NilError(t, err)
	run.Progress.Events = run.Events[len(run.Events)-1].Seq
	said := state.Event{Seq: run.Progress.Events + 1, Agent: "main", State: "START.sh", Body: &state.AgentOutput{}}
	assert.NilError(t, errors.Join(log.Report(said), log.Close(), completeRun(j, s, store, run)))
	lines, err := os.ReadFile(filepath.Join(s.run("r"), session.EventsFile))
	for _, event := range []string{"run_started", "agent_started", "agent_output", "attempt_interrupted"} {
		assert.Check(t, err)
		assert.Check(t, is.Equal(strings.Count(string(lines), `"`+event+`"`), 1))
	}
}

// TestUnreadableRunCountsAsWholeBudget checks that the whole budget counts as spent if the state
// can't be read although its file mode is restored.
func TestUnreadableRunCountsAsWholeBudget(t *testing.T) {
	var log strings.Builder
	j, s := &Job{options: &options.Options{}}, &scratch{log: newLog(job.NewLogWriter(&log, ""), false), note: &postNote{}}
	s.state = t.TempDir()
	s.note.data.WorkflowID = "r"
	file := filepath.Join(s.state, "r.json")
	assert.NilError(t, os.WriteFile(file, []byte("{"), 0o000))
	lease, err := reopenLease(j, s)
	assert.NilError(t, err)
	err = completeEnd(t.Context(), j, s, lease, false)
	if info, _ := os.Stat(file); err == nil || info.Mode().Perm() != 0o600 || !strings.Contains(log.String(), "the whole budget of the run counts") {
		t.Errorf("got %v, mode %v, log %q, want the budget booked", err, info.Mode(), log.String())
	}
}
