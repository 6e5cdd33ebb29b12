package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
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

// merged is a run on this machine, with what its parts have brought.
type merged struct {
	run   *state.Run
	where func(dir string) string // where the directories of its checkpoint lie here
	found []slots.PartFound
	ran   []state.Ran
	took  []bool // which parts were joined
}

func (j *merged) remove() {
	for _, p := range j.found {
		p.Remove()
	}
}

// isRunning reports whether a job may still be running a part.
func (j *merged) isRunning() bool {
	return slices.ContainsFunc(j.ran, func(r state.Ran) bool { return r.Running })
}

// of is the lookup of the run as it was joined.
func (j *merged) of(l lookup) lookup {
	l.was = j.run
	return l
}

// joinParts moves a run that was found to this machine, and merges what the jobs of a matrix have done into it, however
// they ended. Nothing of it is stored before the next step of the run is: until then, another job
// would join the same parts to the same run.
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
	if j.found, err = s.stored.finder().Parts(ctx, partsQuery(s, b.found, j.run.Parts)); err != nil {
		return nil, err
	}
	if err := j.join(s.log, s.places, b); err != nil {
		j.remove()
		return nil, err
	}
	return j, nil
}

// join merges the parts that were found.
func (j *merged) join(log *jobLog, here checkpoint.Places, b *readyRun) error {
	for _, f := range j.found {
		ran, err := readPart(log, here, j.run, f)
		if err != nil {
			return err
		}
		j.ran = append(j.ran, ran)
	}
	out, err := state.Joining{Base: j.run, Parts: j.ran, JobOf: b.flow.Workflow.JobOf, Now: time.Now()}.Join()
	var conflict *state.PartConflict
	if errors.As(err, &conflict) {
		return &problem.Problem{Class: problem.ClassConflict, Where: "parts of the run", What: err.Error(),
			Hint: "delete the artifacts of one of them, or start anew with resume: never"}
	}
	if err == nil {
		err = errors.Join(appendEvents(b.found.Dir, j.run, out.Events), j.takeLogs(b.found.Dir))
	}
	if err != nil {
		return err
	}
	j.run, j.took = out.Run, out.Took
	return nil
}

// taken are the parts that were joined, each with its newest checkpoint.
func (j *merged) taken() iter.Seq2[int, *slots.Found] {
	return func(yield func(int, *slots.Found) bool) {
		for i, ran := range j.ran {
			if len(ran.Runs) > 0 && !yield(i, j.found[i].All[0]) {
				return
			}
		}
	}
}

// takeLogs takes over the logs of the parts' agents.
func (j *merged) takeLogs(to string) error {
	for i, found := range j.taken() {
		from := filepath.Join(found.Dir, "logs")
		entries, err := os.ReadDir(from)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if !e.IsDir() || !j.ran[i].Part.Has(e.Name()) {
				continue
			}
			dir := filepath.Join(to, "logs", e.Name())
			if err := errors.Join(os.MkdirAll(filepath.Dir(dir), 0o700), os.RemoveAll(dir), files.Rename(filepath.Join(from, e.Name()), dir)); err != nil {
				return err
			}
		}
	}
	return nil
}

// bringWork says what was joined, and adds the work of each part as branches raymond/AGENT, for a script to merge.
func (j *merged) bringWork(ctx context.Context, s *step) error {
	j.say(s.log, s.options.Jobs)
	for i, found := range j.taken() {
		if !j.took[i] || s.in.Workspace == job.WorkspaceNone {
			continue
		}
		where, err := relocation(s.places, found)
		if err != nil {
			return err
		}
		notes, err := s.git.Bring(ctx, restoring(found, where), branchesOf(j.ran[i]))
		if err := restored(s.log, notes, err); err != nil {
			return err
		}
	}
	return nil
}

// placeTranscripts puts the conversations of the parts' agents where the agent CLIs of this
// machine look for them.
func (j *merged) placeTranscripts(here checkpoint.Places, agents map[string]runner.Agent, talks *checkpoints.Talks) error {
	for i, found := range j.taken() {
		where, err := relocation(here, found)
		if err != nil {
			return err
		}
		own := map[string]bool{}
		for _, t := range checkpoint.Sessions(j.ran[i].Own()) {
			own[t.ID] = true
		}
		if err := (placing{agents: agents, talks: talks, found: found, where: where, own: own}).all(); err != nil {
			return err
		}
	}
	return nil
}

// branchesOf names the branches of a part: one for each agent that was handed over to it,
// and for those with a directory of their own that it has forked.
func branchesOf(ran state.Ran) map[string]string {
	run, branches := ran.Own(), map[string]string{}
	add := func(agent, dir string) {
		isHanded := slices.ContainsFunc(ran.Part.Agents, func(h state.Handover) bool { return h.Agent == agent })
		if isHanded || dir != "" && ran.Part.Has(agent) {
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

// say says what was joined, and of which parts the end is not known.
func (j *merged) say(log *jobLog, jobs []string) {
	taken, missing, running := 0, 0, 0
	var lost []string
	for i, ran := range j.ran {
		switch {
		case ran.Running:
			running++
		case len(ran.Runs) > 0:
			taken++
			if m := j.found[i].All[0].Manifest; m.Status == state.Running && !m.Ended {
				lost = append(lost, fmt.Sprintf("%s (unknown since %s)", ran.Part.Label(), m.Created.UTC().Format("15:04:05 UTC")))
			}
		case !ran.Part.Earlier && !slices.Contains(jobs, ran.Part.Job): // or else this step runs them
			missing++
		}
		for _, n := range j.found[i].Notices {
			log.notice(n)
		}
	}
	if taken+missing+running == 0 {
		return
	}
	text := "joined " + state.Count(taken, "part") + " of the run"
	if missing > 0 {
		text += fmt.Sprintf("; %d stored nothing, and their agents stand where they were handed over", missing)
	}
	if running > 0 {
		text += fmt.Sprintf("; %d may still be running, and are left alone", running)
	}
	if len(lost) > 0 {
		text += "; what jobs that were lost have done and spent is not known after their last checkpoint: " + strings.Join(lost, ", ")
	}
	log.say(text)
}

// readPart reads what the jobs of a part have stored. Its error is a *state.FileError that names the
// artifact, or one of openPart.
func readPart(log *jobLog, here checkpoint.Places, base *state.Run, f slots.PartFound) (state.Ran, error) {
	ran := state.Ran{Part: f.Part, Running: f.Running}
	if f.Running {
		return ran, nil
	}
	for i, stored := range f.All {
		run, err := openPart(log, here, stored)
		if err == nil {
			err = within(stored.Artifact.Name, f.Part.Check(base, run))
		}
		if err == nil && i == 0 {
			own, _ := run.Parts.Own()
			ran.Events, err = eventsAfter(filepath.Join(stored.Dir, session.EventsFile), own.Began.Events)
			err = within(stored.Artifact.Name, err)
		}
		if err != nil {
			return ran, err
		}
		ran.Runs = append(ran.Runs, run)
	}
	return ran, nil
}

// openPart reads the run of a part, and moves it to this machine.
func openPart(log *jobLog, here checkpoint.Places, f *slots.Found) (*state.Run, error) {
	run, err := readState(f)
	if err != nil {
		return nil, err
	}
	where, err := relocation(here, f)
	if err != nil {
		return nil, err
	}
	if f.Manifest.PartName() != "" && len(f.Manifest.Lacks()) > 0 {
		log.warn(fmt.Sprintf("the part in %s was stored without its %s: %s", f.Artifact.Name, strings.Join(f.Manifest.Lacks(), " and "), strings.Join(f.Manifest.Causes(), "; ")))
		run.Forget(func(string) bool { return true })
	}
	return run.Relocate(where)
}

// within names the artifact in a *state.FileError.
func within(artifact string, err error) error {
	var bad *state.FileError
	if errors.As(err, &bad) && bad.Path == "" {
		bad.Path = artifact
	}
	return err
}

// eventsAfter returns the events that the log at path has with numbers above after. Its error is a
// *state.FileError, or one of the file.
func eventsAfter(path string, after int) ([]state.Event, error) {
	var events []state.Event
	for e, err := range report.Events(path) {
		var bad *state.FileError
		if errors.As(err, &bad) { // where the checkpoint was unpacked says nothing to anybody
			bad.Path, bad.Field = "", session.EventsFile+" "+bad.Field
		}
		if err != nil {
			return nil, err
		}
		if e.Seq > after {
			events = append(events, e)
		}
	}
	return events, nil
}

// appendEvents adds events to the log in a folder, which a checkpoint has brought: those of the
// run's last save, as far as the log lacks them, and then what was joined.
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
