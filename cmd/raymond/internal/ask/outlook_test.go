package ask_test

import (
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// each calls f with every combination of facts.
func each(f func(ask.Facts)) {
	all := []ask.Facts{{WorkflowID: "k-1a2b3c4d", Key: "k", StateDir: "runs", WhyNowhere: "the reason", Spent: state.Spent{USD: state.Dollar}, Iterations: 7}}
	vary := func(variants ...func(*ask.Facts)) {
		var more []ask.Facts
		for _, facts := range all {
			for _, v := range variants {
				next := facts
				if v != nil {
					v(&next)
				}
				more = append(more, next)
			}
		}
		all = more
	}
	var statuses, kept, lacks []func(*ask.Facts)
	for _, s := range []state.Status{state.Running, state.Completed, state.Failed, state.OverBudget, state.OverIterations, state.Suspended, state.Cancelled} {
		statuses = append(statuses, func(f *ask.Facts) { f.Status = s })
	}
	for _, k := range []ask.Kept{ask.Nowhere, ask.Stored, ask.Later, ask.Locally} {
		kept = append(kept, func(f *ask.Facts) { f.Kept = k })
	}
	for _, why := range []string{"", checkpoint.NoKey, checkpoint.TooLarge, checkpoint.Unpacked, checkpoint.FromFork} {
		lacks = append(lacks, func(f *ask.Facts) {
			if why != "" {
				f.Lacks = []checkpoint.LeftOut{{What: "workspace", Why: why}, {What: "transcripts", Why: why}}
			}
		})
	}
	vary(statuses...)
	vary(kept...)
	vary(lacks...)
	vary(nil, func(f *ask.Facts) { f.Number, f.Kind = 7, "issue" })
	vary(nil, func(f *ask.Facts) { f.WithoutTranscript = true })
	vary(nil, func(f *ask.Facts) { f.NeverResume = true })
	vary(nil, func(f *ask.Facts) { f.NoActionsRead = true })
	vary(nil, func(f *ask.Facts) { f.Successor = "go-on" })
	vary(nil, func(f *ask.Facts) { f.Cause = "the agents had no key" })
	vary(nil, func(f *ask.Facts) { f.Until = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC) })
	for _, facts := range all {
		f(facts)
	}
}

// TestWhatIsSaidIsTrue: for every combination of facts, the text promises what the next
// run does, and explains why something can't be done.
func TestWhatIsSaidIsTrue(t *testing.T) {
	each(func(f ask.Facts) {
		o := ask.OutlookOf(f)
		says := func(part string) bool { return strings.Contains(o.Text, part) }
		isOver := f.Status == state.Completed
		isFork := len(f.Lacks) > 0 && f.Lacks[0].Why == checkpoint.FromFork
		resumable := !isOver && f.Kept != ask.Nowhere && !isFork && (len(f.Lacks) == 0 || f.WithoutTranscript && f.Lacks[0].Why != checkpoint.NoKey)
		atRest := f.Status == state.Suspended || f.Status == state.Cancelled
		isArtifact := f.Kept == ask.Stored || f.Kept == ask.Later
		isLimit := f.Status == state.OverBudget || f.Status == state.OverIterations
		promises := map[string]bool{
			"resumes it":                   resumable && (atRest || f.Status == state.Running || isLimit && isArtifact && f.NeverResume),
			"Fix the cause":                resumable && f.Status == state.Failed,
			"re-run button":                resumable && isArtifact && (isLimit || !f.NeverResume),
			"The re-run button can't":      resumable && isArtifact && isLimit,
			"`resume: k-1a2b3c4d`":         resumable && f.Status == state.Failed && (f.Number == 0 && !f.NoActionsRead || f.Number == 0 && f.Kept == ask.Locally || f.NeverResume && isArtifact),
			"next event on this issue":     resumable && f.Status == state.Failed && isArtifact && f.Number != 0 && !f.NeverResume && !f.NoActionsRead,
			"`budget` above `$1`":          resumable && f.Status == state.OverBudget,
			"`max-iterations` above `7`":   resumable && f.Status == state.OverIterations,
			"The job `go-on`":              resumable && isArtifact && (atRest || f.Status == state.Running) && f.Successor != "" && !f.NeverResume,
			"`state-dir: runs`":            resumable && f.Kept == ask.Locally,
			"actions: read":                resumable && isArtifact && f.NoActionsRead && !f.NeverResume,
			"by the post part":             resumable && f.Kept == ask.Later,
			"obody can resume":             !resumable && !isOver,
			"the reason":                   !isOver && f.Kept == ask.Nowhere,
			"of a fork":                    !isOver && isFork && f.Kept != ask.Nowhere,
			"`state-key`":                  !resumable && !isOver && f.Kept != ask.Nowhere && !isFork && f.Lacks[0].Why == checkpoint.NoKey,
			"over 256 MiB":                 !resumable && !isOver && f.Kept != ask.Nowhere && !isFork && f.Lacks[0].Why == checkpoint.TooLarge,
			"the disk":                     !resumable && !isOver && f.Kept != ask.Nowhere && !isFork && f.Lacks[0].Why == checkpoint.Unpacked,
			"from 2026-03-01 09:00 UTC on": resumable && f.Status == state.Suspended && !f.Until.IsZero(),
			"The agents had no key":        !isOver && f.Cause != "",
			"If the job has ended":         resumable && f.Status == state.Running,
		}
		for part, want := range promises {
			if says(part) != want {
				t.Fatalf("%+v\nsays %q: got %v, want %v, in\n%s", f, part, says(part), want, o.Text)
			}
		}
		if o.Resumable != resumable {
			t.Fatalf("%+v\ngot resumable %v, want %v", f, o.Resumable, resumable)
		}
		if strings.Contains(o.Text, "not stored") || isOver != (o.Text == "") || strings.Count(o.Text, "`")%2 != 0 || !isOver && !strings.HasSuffix(o.Text, ".") {
			t.Fatalf("%+v\ngot the text %q", f, o.Text)
		}
	})
}

// TestALimitOnManyRuns: it is named, and time helps as well as a larger one, so that the
// re-run button is no use too early.
func TestALimitOnManyRuns(t *testing.T) {
	each(func(f ask.Facts) {
		if f.Status != state.OverBudget || f.Kept == ask.Nowhere || len(f.Lacks) > 0 || f.Cause != "" {
			return
		}
		f.Cap = ask.Cap{Which: "budget-per-key", Spent: 7 * state.Dollar, Max: 5 * state.Dollar}
		o := ask.OutlookOf(f)
		want := "Raise `budget-per-key` above `$7`, or wait: only what was spent in the last 24 hours counts. "
		if !o.Resumable || !strings.HasPrefix(o.Text, want) || !strings.Contains(o.Text, "resumes it") || strings.Contains(o.Text, "button can't") {
			t.Fatalf("%+v\ngot %q", f, o.Text)
		}
	})
}

// TestAFailureSaysWhatHelps: the re-run button is no help against what is in files, and a
// conversation that is too long is as long again.
func TestAFailureSaysWhatHelps(t *testing.T) {
	const way, files = "Fix the cause, then press the re-run button, or run the workflow with `resume: w`.", " The button takes the files of this commit: after a change of them, take the other way."
	long := state.AgentFailure{Class: string(state.Fatal), Message: "bad request: Prompt is too long"}
	for want, c := range map[string]struct {
		agent   state.Agent
		refuses bool
	}{
		way + files: {state.Agent{State: "A.sh", Failure: &state.AgentFailure{Class: string(state.Fatal), Message: "exit code 1"}}, false},
		way + files + " It needs `changed-workflow: take`.": {state.Agent{State: "A.sh", Failure: &state.AgentFailure{Class: string(state.Fatal), Message: "exit code 1"}}, true},
		way:                                   {state.Agent{State: "A.md", Failure: &state.AgentFailure{Class: string(state.Transient), Message: "no result"}}, true},
		"Shorten A.md. " + way + files:        {state.Agent{State: "A.md", Failure: &long}, false},
		"Set `max-agents: 8`. " + way + files: {state.Agent{State: "A.md", Failure: &state.AgentFailure{Message: "max-agents: the run would have 5 agents at once, more than 4"}}, false},
		"Have a state before A.md reset. Then run the workflow with `resume: w@N`, where N is the number of `B.md` in the table of states.": {
			state.Agent{State: "A.md", By: "agent B.md", Session: &state.Session{ID: "s"}, Failure: &long}, false},
	} {
		run := &state.Run{Agents: []*state.Agent{&c.agent}, Options: state.Options{MaxAgents: 4}}
		f := ask.Facts{Status: state.Failed, WorkflowID: "w", Kept: ask.Stored, Cure: report.CureOf(run), RefusesChanges: c.refuses}
		if got := ask.OutlookOf(f).Text; got != want {
			t.Errorf("%s:\n got %q\nwant %q", c.agent.Failure.Message, got, want)
		}
	}
}
