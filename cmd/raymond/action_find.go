package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/state"
)

// taken is a run that is gone on with.
type taken struct {
	run   *state.Run
	found *slots.Found // nil: it is in the step's own folder
	// oldStates: with the states that it began with, which are not those of now.
	oldStates bool
	isOver    bool   // it is completed, and only put back
	why       string // what is different from what was, for people; "" for nothing
}

// services are where checkpoints are kept.
type services struct {
	runtime *artifacts.Runtime // nil: the job has none
	archive *artifacts.Archive // nil: there is no token
}

// openServices reads addresses; it asks nobody anything.
func (x *action) openServices() (services, error) {
	var s services
	var err error
	if token := x.app.Getenv("ACTIONS_RUNTIME_TOKEN"); token != "" {
		s.runtime, err = artifacts.NewRuntime(artifacts.Options{URL: x.app.Getenv("ACTIONS_RESULTS_URL"), Token: token, Mask: x.log.AddMask, Act: x.underAct()})
		if err != nil {
			return s, &problem.Problem{Class: problem.ClassStore, Where: "results service", What: err.Error()}
		}
	}
	if x.in.GitHubToken == "" {
		return s, nil
	}
	api, err := x.forge()
	if err != nil {
		return s, err
	}
	s.archive = artifacts.NewArchive(api, x.log.AddMask)
	return s, nil
}

// find looks for a run to take up; what it returns has no manifest when there is
// none.
func (x *action) find(ctx context.Context, s services) (*slots.Found, error) {
	f := &slots.Finder{}
	if s.runtime != nil {
		f.Service = s.runtime
	}
	if s.archive != nil {
		f.Archive = s.archive
	}
	if x.in.Resume == job.ResumeNever {
		return &slots.Found{}, nil
	}
	found, err := f.Find(ctx, x.query())
	if err != nil {
		return nil, err
	}
	for _, n := range found.Notices {
		x.log.Annotate(annotation("notice", n))
	}
	if found.Warning != "" {
		x.blind = found.NoAccess
		x.losses = append(x.losses, found.Warning)
	}
	return found, nil
}

// query says what checkpoints are looked for.
func (x *action) query() slots.Query {
	return slots.Query{
		Mode: x.in.Resume, Key: x.key,
		Origin: slots.Origin{
			RepositoryID: x.event.Repository.ID, Workflow: x.workflowFile(), ResumeFrom: x.in.ResumeFrom,
			Branch: x.event.Branch, DefaultBranch: x.event.Repository.DefaultBranch, Gitea: x.event.Gitea,
		},
		Job: slots.Job{
			RunID: x.origin().RunID, Attempt: x.event.Attempt, ID: x.app.Getenv("GITHUB_JOB"), Runner: x.app.Getenv("RUNNER_NAME"),
		},
		SameIDs: x.event.Gitea || x.underAct(), Act: x.underAct(), Temp: x.dir,
		Read: func(f *os.File, size int64, dir string) (checkpoint.Manifest, string, error) {
			return checkpoint.Read(checkpoint.Reading{File: f, Size: size, Keys: x.keys, Dir: dir})
		},
	}
}

// underAct reports whether act itself runs the job: its artifact service is simpler,
// and it has no earlier runs.
func (x *action) underAct() bool { return x.byAct() && !x.event.Gitea }

// byAct reports whether the program that runs the job is act, or made of it: Gitea's
// runner is, and says ACT=true as well.
func (x *action) byAct() bool { return x.app.Getenv("ACT") == "true" }

// takeUp returns the run to go on with, nil for a new one. Whether a run is taken
// up is decided by what its checkpoint says; nothing is put back before that.
func (x *action) takeUp(found *slots.Found) (*taken, error) {
	if x.in.Resume == job.ResumeNever {
		return nil, nil
	}
	facts := x.facts()
	facts.InThisRun, facts.RunStatus, facts.JobStatus = found.InThisRun, found.RunStatus, found.JobStatus
	facts.RunURL = cmp.Or(found.RunURL, x.addressOf(found.RunID))
	t := &taken{found: found}
	if found.Manifest != nil {
		var err error
		if t.run, err = readState(found); err != nil {
			return nil, err
		}
		x.measure(&facts, t.run)
	}
	return x.judged(t, slots.Decide(found.Manifest, facts))
}

// facts is what the job itself has to do with whether a run is taken up.
func (x *action) facts() slots.Facts {
	return slots.Facts{
		Mode: x.in.Resume, Attempt: x.event.Attempt, Number: x.event.Number, Now: time.Now(),
		ChangedWorkflow: x.in.ChangedWorkflow, ResumeWithoutTranscript: x.in.ResumeWithoutTranscript,
	}
}

// addressOf is where people see a workflow run; "" where that is not known.
func (x *action) addressOf(run int64) string {
	if site := x.site(); site != "" && run != 0 {
		return fmt.Sprintf("%sactions/runs/%d", site, run)
	}
	return ""
}

// judged does what the verdict on a run that was found says.
func (x *action) judged(t *taken, v slots.Decision) (*taken, error) {
	switch v.Action {
	case slots.Refuse:
		return nil, &problem.Problem{Class: problem.Class(v.Class), Where: "input resume", What: v.Why, Hint: v.Hint}
	case slots.NewRun:
		x.tellNew(t, v)
		return nil, nil
	}
	t.oldStates, t.isOver = v.OldStates, v.Action == slots.Restore
	t.why = v.Why
	return t, nil
}

// tellNew says why a new run begins though there was one before.
func (x *action) tellNew(t *taken, v slots.Decision) {
	if v.Why == "" {
		return
	}
	x.notes = append(x.notes, "A new run began: "+v.Why+".")
	switch {
	case v.Warn:
		x.warn("a new run begins: " + v.Why)
	case t.run == nil || t.run.Progress.Status != state.Completed: // after one that is completed it is no news
		x.log.Annotate(annotation("notice", "a new run begins: "+v.Why))
	}
}

// say tells something about how the run goes on, in log, page and comment.
func (x *action) say(text string) {
	x.differs = append(x.differs, sentence(text))
	x.log.Annotate(annotation("notice", x.shown(text)))
}

// readState reads the run of a checkpoint, which is verified by now.
func readState(found *slots.Found) (*state.Run, error) {
	path := filepath.Join(found.Dir, "state.json")
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, &problem.Problem{Class: problem.ClassBadState, Where: found.Artifact.Name, What: "has no state.json"}
	}
	run, err := state.Decode(data)
	var bad *state.FileError
	if errors.As(err, &bad) {
		bad.Path = found.Artifact.Name + ": state.json"
	}
	if err == nil && run.WorkflowID != found.Manifest.WorkflowID {
		err = &state.FileError{Path: found.Artifact.Name + ": state.json", Field: "workflow_id", What: "is not the manifest's"}
	}
	return run, err
}

// changedFiles names the files that a run has used, or stands at, and that are
// not what they were.
func changedFiles(run *state.Run, s *scope) []string {
	now := s.workflow.Hashes()
	var out []string
	for name := range needed(run) {
		if now[name] != run.Files[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// measure adds what the run itself has to do with whether it is gone on with: its
// limits, as the inputs change them, and the files that it began with.
func (x *action) measure(f *slots.Facts, run *state.Run) {
	options := run.Options
	for _, change := range x.o.over {
		change(&options)
	}
	f.Budget, f.MaxIterations = options.BudgetUSD, options.MaxIterations
	f.Changed = changedFiles(run, x.scope)
}

// workflowFile is the path of the job's own workflow file.
func (x *action) workflowFile() string { return job.WorkflowFile(x.app.Getenv) }

// placesHere are the folders of this machine.
func (x *action) placesHere() checkpoint.Places {
	temp := cmp.Or(x.app.Getenv("RUNNER_TEMP"), os.TempDir())
	return checkpoint.Places{Workspace: strings.TrimRight(x.top, `/\`), Temp: strings.TrimRight(temp, `/\`), OS: runtime.GOOS}
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }
