package keep_test

import (
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/runner/checkpoint"
	"github.com/raymond-action/raymond-action/runner/keep"
	"github.com/raymond-action/raymond-action/state"
)

const id = key + "-00000001"

// verdict is a Verdict in one word and what it names.
func verdict(v keep.Verdict) string {
	switch v.Action {
	case keep.TakeUp:
		return "take up"
	case keep.NewRun:
		return "new"
	}
	return v.Class
}

// TestJudge has every status in every mode.
func TestJudge(t *testing.T) {
	usage, conflict, over := keep.ClassUsage, keep.ClassConflict, keep.ClassOverLimit
	for _, tt := range []struct {
		name              string
		status            state.Status
		facts             keep.Facts
		auto, must, named string // mode auto, require, and the run's id
	}{
		{"suspended", state.Suspended, keep.Facts{}, "take up", "take up", "take up"},
		{"cancelled", state.Cancelled, keep.Facts{}, "take up", "take up", "take up"},
		{"suspended, run goes on", state.Suspended, keep.Facts{RunStatus: "in_progress"}, "take up", "take up", "take up"},
		{"completed", state.Completed, keep.Facts{}, "new", usage, usage},
		{"completed, same issue", state.Completed, keep.Facts{Number: 7}, "new", usage, usage},
		{"unknown", "paused", keep.Facts{}, "new", usage, usage},

		{"running, run over", state.Running, keep.Facts{RunStatus: "completed"}, "take up", "take up", "take up"},
		{"running, this run", state.Running, keep.Facts{InThisRun: true, RunStatus: "in_progress"}, "take up", "take up", "take up"},
		{"running, in progress", state.Running, keep.Facts{RunStatus: "in_progress"}, conflict, conflict, conflict},
		{"running, queued", state.Running, keep.Facts{RunStatus: "queued"}, conflict, conflict, conflict},
		{"running, unknown", state.Running, keep.Facts{}, conflict, conflict, conflict},

		{"failed", state.Failed, keep.Facts{}, "new", usage, "take up"},
		{"failed, same issue", state.Failed, keep.Facts{Number: 7}, "take up", "take up", "take up"},
		{"failed, other issue", state.Failed, keep.Facts{Number: 8}, "new", usage, "take up"},

		{"over budget, same", state.OverBudget, keep.Facts{Budget: 10 * state.Dollar}, "new", over, over},
		{"over budget, as spent", state.OverBudget, keep.Facts{Budget: 12 * state.Dollar}, "new", over, over},
		{"over budget, larger", state.OverBudget, keep.Facts{Budget: 12*state.Dollar + 1}, "take up", "take up", "take up"},
		{"over budget, none", state.OverBudget, keep.Facts{}, "take up", "take up", "take up"},
		{"over iterations, same", state.OverIterations, keep.Facts{MaxIterations: 50}, "new", over, over},
		{"over iterations, larger", state.OverIterations, keep.Facts{MaxIterations: 51, Budget: 1}, "take up", "take up", "take up"},
		{"over iterations, none", state.OverIterations, keep.Facts{}, "take up", "take up", "take up"},

		{"changed", state.Suspended, keep.Facts{Changed: []string{"A.md"}}, "new", conflict, conflict},
		{"changed, allowed", state.Suspended, keep.Facts{Changed: []string{"A.md"}, AllowChanged: true}, "take up", "take up", "take up"},
		{"changed and driven", state.Running, keep.Facts{Changed: []string{"A.md"}, RunStatus: "in_progress"}, conflict, conflict, conflict},
	} {
		m := &checkpoint.Manifest{WorkflowID: id, Status: tt.status, Number: 7, TotalUSD: 12 * state.Dollar, Iterations: 50, RunID: 3}
		for mode, want := range map[string]string{keep.Auto: tt.auto, keep.Require: tt.must, id: tt.named} {
			tt.facts.Mode = mode
			got := keep.Judge(m, tt.facts)
			if verdict(got) != want {
				t.Errorf("%s, mode %s: %+v, want %s", tt.name, mode, got, want)
			}
			if told := got.Why != ""; told != (want != "take up") || (got.Hint != "") != (got.Action == keep.Refuse) {
				t.Errorf("%s, mode %s: %+v: a reason for all but a resume, a hint for a refusal", tt.name, mode, got)
			}
		}
	}
}

func TestJudgeOfNothing(t *testing.T) {
	for mode, want := range map[string]string{keep.Auto: "new", keep.Require: keep.ClassUsage, id: keep.ClassUsage} {
		got := keep.Judge(nil, keep.Facts{Mode: mode})
		if verdict(got) != want || want != "new" && !strings.HasPrefix(got.Why, "no ") {
			t.Errorf("mode %s: %+v, want %s", mode, got, want)
		}
	}
}

// TestFailedWithoutANumber: no issue is no common issue.
func TestFailedWithoutANumber(t *testing.T) {
	m := &checkpoint.Manifest{WorkflowID: id, Status: state.Failed}
	if got := keep.Judge(m, keep.Facts{Mode: keep.Auto}); got.Action != keep.NewRun {
		t.Errorf("%+v, want a new run", got)
	}
}

// TestWhatWasLeftOut is missed only when it held something.
func TestWhatWasLeftOut(t *testing.T) {
	transcripts, workspace := checkpoint.LeftOut{What: "transcripts", Held: true}, checkpoint.LeftOut{What: "workspace"}
	for _, tt := range []struct {
		left    []checkpoint.LeftOut
		without bool
		want    string
	}{
		{nil, false, "take up"},
		{[]checkpoint.LeftOut{workspace}, false, "take up"},
		{[]checkpoint.LeftOut{workspace, transcripts}, false, keep.ClassDenied},
		{[]checkpoint.LeftOut{workspace, transcripts}, true, "take up"},
	} {
		for _, mode := range []string{keep.Auto, keep.Require, id} {
			m := &checkpoint.Manifest{WorkflowID: id, Status: state.Suspended, LeftOut: tt.left}
			got := keep.Judge(m, keep.Facts{Mode: mode, ResumeWithoutTranscript: tt.without})
			if verdict(got) != tt.want {
				t.Errorf("%+v, mode %s: %+v, want %s", tt.left, mode, got, tt.want)
			}
			if tt.want == keep.ClassDenied && (!strings.Contains(got.Why+got.Hint, "state-key") || strings.Contains(got.Why, "workspace")) {
				t.Errorf("%+v: %q; %q: want state-key and what is missing named", tt.left, got.Why, got.Hint)
			}
		}
	}
	m := &checkpoint.Manifest{WorkflowID: id, Status: state.Completed, LeftOut: []checkpoint.LeftOut{transcripts}}
	if got := keep.Judge(m, keep.Facts{Mode: keep.Auto}); got.Action != keep.NewRun {
		t.Errorf("a run that is over: %+v, want a new run", got)
	}
}

func TestTheRunInTheWayIsNamed(t *testing.T) {
	m := &checkpoint.Manifest{WorkflowID: id, Status: state.Running, RunID: 3, Job: "build"}
	got := keep.Judge(m, keep.Facts{Mode: keep.Auto, RunStatus: "in_progress", RunURL: "https://example.test/runs/3"})
	for _, want := range []string{"https://example.test/runs/3", "build", "in_progress", id} {
		if !strings.Contains(got.Why, want) {
			t.Errorf("%q does not name %q", got.Why, want)
		}
	}
}
