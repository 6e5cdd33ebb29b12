package main

import (
	"path/filepath"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/outlook"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/state"
)

// What keeps a run from being kept, and what would have kept it.
const (
	noService = "the job has no results service (`ACTIONS_RUNTIME_TOKEN` is not set), so nothing of it is stored; " +
		"`store: local` with a `state-dir` keeps runs on the machine"
	unstored = "its end could not be stored; the post part of the step tries once more when this job ends"
	lost     = "its end could not be stored, and so it is lost with this machine"
)

// outlook decides what can be done with a run. Everything that is said about that
// is said of its value.
func (x *action) outlook(run *state.Run) outlook.Outlook {
	p := &run.Progress
	f := outlook.Facts{
		Status: p.Status, WorkflowID: run.WorkflowID, Key: x.key, Number: x.event.Number, Kind: "issue", Until: p.Until,
		Spent: run.Spent(), Budget: run.Options.BudgetUSD, Iterations: p.Iterations, MaxIterations: run.Options.MaxIterations,
		StateDir: x.in.StateDir, Without: x.in.ResumeWithoutTranscript, Never: x.in.Resume == job.ResumeNever, Blind: x.blind,
		Cause: x.keyAdvice(run), Lacks: x.lacking(run),
	}
	if x.event.Kind == job.KindPullRequest {
		f.Kind = "pull request"
	}
	if x.after && f.Status == state.Running { // nobody drives it any more
		f.Status = state.Cancelled
	}
	f.Kept, f.Unkept = x.kept(run)
	if x.byPost {
		f.ByPost = x.stored
	}
	isRed := f.Status != state.Suspended || x.in.SuspendedIsFailure
	f.GoesOn = outlook.Successor(x.flow, outlook.Ending{
		Job: x.app.Getenv("GITHUB_JOB"), Step: x.app.Getenv("GITHUB_ACTION"), Key: x.in.Key, Status: f.Status, IsRed: isRed,
	})
	return outlook.Of(f)
}

// kept says where a run is kept; of one that is kept nowhere, why.
func (x *action) kept(run *state.Run) (where outlook.Kept, why string) {
	switch {
	case x.unkept != "":
		return outlook.Nowhere, x.unkept
	case x.in.Store == job.StoreLocal:
		return outlook.Locally, ""
	case x.depot == nil && !x.after:
		return outlook.Nowhere, noService
	case x.endStored, run.Progress.Status == state.Running && !x.after:
		return outlook.Stored, ""
	case x.sinceSignal != nil && x.sinceSignal() >= 0 && !x.isLast: // there was no time
		return outlook.Later, ""
	case x.stored != "":
		return outlook.Stored, "" // an earlier part of it
	case x.after, x.isLast:
		return outlook.Nowhere, lost
	}
	return outlook.Nowhere, unstored
}

// lacking is what the last checkpoint lacks; before there is one, what it is sure
// to lack.
func (x *action) lacking(run *state.Run) []outlook.Lack {
	if x.in.Store == job.StoreLocal {
		return nil
	}
	if x.isForks() {
		return []outlook.Lack{{What: outlook.Workspace, Why: outlook.FromFork}}
	}
	if x.depot == nil {
		return nil
	}
	if run.Progress.Status == state.Running && x.scope != nil && x.scope.hasPrompts() && x.depot.isOpen() {
		return []outlook.Lack{{What: outlook.Transcripts, Why: outlook.NoKey}}
	}
	var lacks []outlook.Lack
	for _, l := range x.depot.left {
		lacks = append(lacks, outlook.Lack{What: l.What, Why: causes[l.Cause()]})
	}
	return lacks
}

// causes are those of package checkpoint as package outlook has them.
var causes = map[string]string{
	checkpoint.NoKey: outlook.NoKey, checkpoint.TooLarge: outlook.TooLarge,
	checkpoint.Unpacked: outlook.Unpacked, checkpoint.FromFork: outlook.FromFork,
}

// maxFlow bounds what is read of the job's workflow file, in bytes.
const maxFlow = 1 << 20

// readFlow reads the job's workflow file, where a checkout that is trusted has it,
// before agents can change it. It is of use to nothing but what people are told.
func (x *action) readFlow() {
	file := filepath.FromSlash(x.workflowFile())
	if !x.trusted || !filepath.IsLocal(file) || job.IsCalled(x.app.Getenv, x.in.JobWorkflow) { // then the job is in another file
		return
	}
	if data, _, err := files.Read(filepath.Join(x.top, file), maxFlow); err == nil {
		x.flow = data
	}
}

// tellNext tells everybody what can be done with a run that is at rest.
func (x *action) tellNext(d *drive, run *state.Run) {
	x.isLast = d.orphaned.Load()
	x.next = x.outlook(run)
	d.fan.Next(x.shown(x.next.Text))
}
