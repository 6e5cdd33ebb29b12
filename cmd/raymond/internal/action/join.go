package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// merged is a run on this machine, merged with the results of its parts.
type merged struct {
	run   *state.Run
	where func(dir string) string // maps directories in its checkpoint to this machine
	found []slots.PartFound
	parts []part // one for each element of found
}

// part is a part of a run with the results of its jobs.
type part struct {
	state.PartRun
	newest  *slots.Found            // its newest checkpoint; nil without a checkpoint, or while a job may be running it
	where   func(dir string) string // maps directories in newest to this machine
	notices []string
	isTaken bool // it was merged into the run
}

func (j *merged) remove() {
	for _, p := range j.found {
		p.Remove()
	}
}

// joinParts moves a run that was found to this machine and merges the results of the jobs of a
// matrix into it, however these jobs ended. The merged run is not stored before its next step:
// until then, another job would join the same parts to the same run.
func joinParts(ctx context.Context, s *step, b *readyRun) (j *merged, err error) {
	j = &merged{}
	if j.where, err = relocation(s.places, b.found); err != nil {
		return nil, err
	}
	if j.run, err = b.was.Relocate(j.where); err != nil {
		return nil, err
	}
	if s.part() != nil || j.run.Progress.Status == state.Completed || len(j.run.Parts) == 0 {
		return j, nil
	}
	if j.found, err = s.stored.finder.Parts(ctx, partsQuery(s, b.found, j.run.Parts)); err != nil {
		return nil, err
	}
	if err := j.join(s.log, s.places, b); err != nil {
		j.remove()
		return nil, err
	}
	return j, nil
}

// join reads the parts that were found and merges them into the run.
func (j *merged) join(log *jobLog, here checkpoint.MachineDirs, b *readyRun) error {
	all := state.PartJoin{Base: j.run, JobOf: b.flow.Workflow.JobOf, Now: time.Now()}
	for _, f := range j.found {
		p, err := readPart(log, here, j.run, f)
		if err != nil {
			return err
		}
		j.parts, all.Parts = append(j.parts, p), append(all.Parts, p.PartRun)
	}
	out, err := all.Join()
	if _, ok := errors.AsType[*state.PartConflict](err); ok {
		return &problem.Problem{Class: problem.ClassConflict, Where: "parts of the run", What: err.Error(),
			Hint: "delete the artifacts of one of them, or start a new run with resume: never"}
	}
	if err == nil {
		err = errors.Join(appendEvents(b.found.Dir, j.run, out.Events), j.takeLogs(b.found.Dir))
	}
	if err != nil {
		return err
	}
	for i := range j.parts {
		j.parts[i].isTaken = out.Merged[i]
	}
	j.run = out.Run
	return nil
}

// takeLogs moves the logs of the parts' agents into the directory to.
func (j *merged) takeLogs(to string) error {
	for _, p := range j.parts {
		if p.newest == nil {
			continue
		}
		logs, _ := os.ReadDir(filepath.Join(p.newest.Dir, "logs"))
		for _, log := range logs {
			dir := filepath.Join(to, "logs", log.Name())
			if !p.Part.MayContain(log.Name()) {
				continue
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(dir), 0o700), os.RemoveAll(dir), files.Rename(filepath.Join(p.newest.Dir, "logs", log.Name()), dir)); err != nil {
				return err
			}
		}
	}
	return nil
}

// bringWork logs which parts were joined, and adds the work of each part as branches raymond/AGENT,
// which a script can merge.
func (j *merged) bringWork(ctx context.Context, s *step) error {
	j.say(s.log, s.options.Jobs)
	for _, p := range j.parts {
		if p.newest == nil || !p.isTaken || s.in.Workspace == job.WorkspaceNone {
			continue
		}
		notes, err := s.git.RestoreAsBranches(ctx, restoring(p.newest, p.where), branchesOf(p.PartRun))
		if err := restored(s.log, notes, err); err != nil {
			return err
		}
	}
	return nil
}

// placeTranscripts copies the conversations of the parts' agents to where the agent CLIs of this
// machine look for them.
func (j *merged) placeTranscripts(agents map[string]runner.AgentCLI, talks *checkpoints.Talks) error {
	for _, p := range j.parts {
		if p.newest == nil {
			continue
		}
		own := map[string]bool{}
		for _, t := range checkpoint.Sessions(p.OwnRun()) {
			own[t.ID] = true
		}
		if err := (placing{agents: agents, talks: talks, found: p.newest, where: p.where, own: own}).all(); err != nil {
			return err
		}
	}
	return nil
}

// branchesOf maps the names of a part's branches to directories: one branch for each agent that was
// handed over to the part, and for each agent forked in the part that has a directory.
func branchesOf(ran state.PartRun) map[string]string {
	run, branches := ran.OwnRun(), map[string]string{}
	add := func(agent, dir string) {
		isHanded := slices.ContainsFunc(ran.Part.Agents, func(h state.Handover) bool { return h.Agent == agent })
		if isHanded || dir != "" && ran.Part.MayContain(agent) {
			branches["raymond/"+agent] = cmp.Or(dir, run.Dir)
		}
	}
	for _, e := range run.Ended {
		add(e.Agent, e.Dir)
	}
	for _, a := range run.Agents {
		add(a.ID, a.Dir)
	}
	return branches
}

// say logs which parts were joined, and for which parts the end is not known.
func (j *merged) say(log *jobLog, jobs []string) {
	taken, missing, running := 0, 0, 0
	var lost []string
	for _, p := range j.parts {
		switch {
		case p.Running:
			running++
		case p.newest != nil:
			taken++
			if m := p.newest.Manifest; m.Status == state.Running && !m.Ended {
				lost = append(lost, fmt.Sprintf("%s (last checkpoint %s)", p.Part.Label(), m.Created.UTC().Format("15:04:05 UTC")))
			}
		case !p.Part.Earlier && !slices.Contains(jobs, p.Part.Job): // otherwise this step runs their agents
			missing++
		}
		for _, n := range p.notices {
			log.notice(n)
		}
	}
	if taken+missing+running == 0 {
		return
	}
	text := "joined " + state.Count(taken, "part") + " of the run"
	if missing > 0 {
		text += fmt.Sprintf("; %d stored nothing, so their agents start again where they were handed over", missing)
	}
	if running > 0 {
		text += fmt.Sprintf("; %d may still be running and were skipped", running)
	}
	if len(lost) > 0 {
		text += "; the work and spending of lost jobs after their last checkpoints is unknown: " + strings.Join(lost, ", ")
	}
	log.say(text)
}

// readPart reads the checkpoints of a part. Its error is a *state.FileError that names the
// artifact, or an error of openPart.
func readPart(log *jobLog, here checkpoint.MachineDirs, base *state.Run, f slots.PartFound) (part, error) {
	p := part{PartRun: state.PartRun{Part: f.Part, Running: f.Running}, notices: f.Notices}
	if f.Running {
		return p, nil
	}
	for i, stored := range f.All {
		where, err := relocation(here, stored)
		if err != nil {
			return p, err
		}
		run, err := openPart(log, stored, where)
		if err == nil {
			err = inArtifact(stored.Artifact.Name, "state.json", f.Part.Check(base, run))
		}
		if err == nil && i == 0 {
			p.newest, p.where = stored, where
			own, _ := run.Parts.OwnPart()
			p.Events, err = eventsAfter(filepath.Join(stored.Dir, session.EventsFile), own.Start.Events)
			err = inArtifact(stored.Artifact.Name, session.EventsFile, err)
		}
		if err != nil {
			return p, err
		}
		p.Runs = append(p.Runs, run)
	}
	return p, nil
}

// openPart reads the run of a part and moves it to this machine.
func openPart(log *jobLog, f *slots.Found, where func(string) string) (*state.Run, error) {
	run, err := readState(f)
	if err != nil {
		return nil, err
	}
	if f.Manifest.PartName() != "" && len(f.Manifest.Missing()) > 0 {
		log.warn(fmt.Sprintf("the part in %s was stored without its %s: %s", f.Artifact.Name, strings.Join(f.Manifest.Missing(), " and "), strings.Join(f.Manifest.OmissionReasons(), "; ")))
		run.ForgetConversations(func(string) bool { return true })
	}
	return run.Relocate(where)
}

// eventsAfter returns the events in the log at path whose numbers are above after.
func eventsAfter(path string, after int) ([]state.Event, error) {
	var events []state.Event
	for e, err := range report.Events(path) {
		if err != nil {
			return nil, err
		}
		if e.Seq > after {
			events = append(events, e)
		}
	}
	return events, nil
}

// appendEvents appends to the log in a directory of a checkpoint: first the events of the run's
// last save that the log lacks, then the joined events.
func appendEvents(dir string, run *state.Run, joined []state.Event) error {
	log, err := session.OpenLog(dir, run, nil, nil)
	if err != nil {
		return err
	}
	for _, e := range joined {
		err = errors.Join(err, log.Report(e))
	}
	return errors.Join(err, log.Close())
}
