package action

import (
	"path/filepath"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// Reasons why a run can't be resumed, with advice.
const (
	noService = "the job has no results service (`ACTIONS_RUNTIME_TOKEN` is not set), so nothing of the run is stored; " +
		"`store: local` with a `state-dir` stores runs on the machine"
	unstored = "its end could not be stored; the post phase of the step tries once more when this job ends"
	lost     = "its end could not be stored, so it is lost when this machine is removed"
)

// outlook determines the user's next steps for a run. All texts about this come from its result.
func (e *ending) outlook(s *step, run *state.Run) ask.NextSteps {
	p := &run.Progress
	f := ask.Facts{
		Status: p.Status, WorkflowID: run.WorkflowID, Key: s.key, Branch: onlyBranch(s.event, s.in, s.keys != nil), Head: s.event.Head, Until: p.Until, Waits: report.WaitsOf(run), JobContext: place(s.event, s.in, s.part(), e.jobFile),
		Spent: run.Spent(), Budget: run.Options.BudgetUSD, Iterations: run.OwnExecutions(), MaxIterations: run.Options.MaxIterations,
		StateDir: s.in.StateDir, WithoutTranscript: s.in.ResumeWithoutTranscript, NeverResume: s.in.Resume == job.ResumeNever, NoActionsRead: e.isBlind,
		Cause: keyAdvice(run, s.in, e.flow), LeftOut: e.lacks(s, run),
		RefusesChanges: s.in.ChangedWorkflow != job.ChangedTake,
	}
	if f.Cure = report.AdviceForJob(run); f.Cure.FirstStep != "" {
		f.Cure.FirstStep = inputsNamed(f.Cure.FirstStep)
	}
	f.Cap.Which, f.Cap.Spent, f.Cap.Max = run.ReachedCap()
	if s.isPost && f.Status == state.Running { // the process that drove it is gone
		f.Status = state.Cancelled
	}
	f.Storage, f.WhyNotStored = e.whereKept(s, run)
	if e.kept.byPost {
		f.PostArtifact = e.kept.artifact
	}
	f.Successor = ask.Successor(e.jobFile, ask.StepResult{Job: s.event.Job, Key: s.in.Key, Status: f.Status, Waits: f.Waits})
	return ask.NextStepsFor(f)
}

// onlyBranch returns the branch whose runs alone can find the step's checkpoints, or "" without
// this limit. Runs of every branch can find a sealed checkpoint, and a default key belongs to one
// branch or issue anyway.
func onlyBranch(e job.Event, in job.Settings, isSealed bool) string {
	own, main := e.Branch, e.Repository.DefaultBranch
	if in.Key == "" || isSealed || in.IsLocal() || main == "" || own == main {
		return ""
	}
	return own
}

// place returns how users can reach agents that wait. jobFile is the workflow file of the job, or
// nil if not known.
func place(e job.Event, in job.Settings, part *state.Part, jobFile []byte) report.JobContext {
	p := report.JobContext{Prefix: in.AnswerPrefix, Number: e.Number, Kind: "issue", Job: e.Job, NoSchedule: ask.HasNoSchedule(jobFile)}
	if e.Kind == job.KindPullRequest {
		p.Kind = "pull request"
	}
	p.Part = agentsOf(part)
	return p
}

// whereKept returns where a run is stored, or why it is not stored.
func (e *ending) whereKept(s *step, run *state.Run) (where ask.Storage, why string) {
	isLast := e.stops.IsOrphaned() // no post phase follows
	switch {
	case e.kept.lost != "":
		return ask.NotStored, e.kept.lost
	case s.in.IsLocal():
		return ask.StoredLocally, ""
	case e.isIdle:
		return ask.StoredAsArtifact, ""
	case e.to == nil && !s.isPost:
		return ask.NotStored, noService
	case e.kept.isWhole, run.Progress.Status == state.Running && !s.isPost:
		return ask.StoredAsArtifact, ""
	case e.isCancelled(): // the step ran out of time
		return ask.StoredLater, ""
	case e.kept.artifact != "":
		return ask.StoredAsArtifact, "" // an earlier checkpoint of the run
	case s.isPost, isLast:
		return ask.NotStored, lost
	}
	return ask.NotStored, unstored
}

// lacks returns the contents that the last checkpoint lacks. Before the first checkpoint, it
// returns the contents that will certainly be missing.
func (e *ending) lacks(s *step, run *state.Run) []checkpoint.Omission {
	switch {
	case s.in.IsLocal():
		return checkpoints.ReadLocal(s.dirs.run(run.WorkflowID)).LeftOut
	case s.event.IsFromFork():
		return []checkpoint.Omission{{What: "workspace", Why: checkpoint.FromFork}}
	case e.to == nil:
		return nil
	case run.Progress.Status == state.Running && e.flow != nil && expectsPrompts(e.flow, run) && e.to.store.IsOpen():
		return []checkpoint.Omission{{What: "transcripts", Why: checkpoint.NoKey}}
	}
	return e.to.store.LeftOut()
}

// maxJobFile is the maximum size in bytes of the job's workflow file.
const maxJobFile = 1 << 20

// readJobFile reads the job's workflow file from a trusted checkout before agents can change it, or
// returns nil if it can't. The content is only used for texts for users.
func readJobFile(in job.Settings, top string, workflow string, isTrusted bool) []byte {
	file := filepath.FromSlash(workflow)
	if !isTrusted || !filepath.IsLocal(file) || in.IsCalled { // for a called workflow, the job is in another file
		return nil
	}
	data, _, err := files.Read(filepath.Join(top, file), maxJobFile)
	if err != nil {
		return nil
	}
	return data
}
