package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/state"
)

// joining is a run whose parts are to be joined, on this machine.
type joining struct {
	run   *state.Run
	base  *slots.Found // what was found of it
	from  services
	jobOf func(state string) string
}

// merged is a run with its parts.
type merged struct {
	run   *state.Run
	found []slots.PartFound
	ran   []state.Ran
	took  []bool // which parts were joined
}

func (j *merged) remove() {
	for _, p := range j.found {
		p.Remove()
	}
}

// joinParts merges what the jobs of a matrix have done into the run, however they ended.
// Nothing of it is stored before the next step of the run is: until then, another job
// would join the same parts to the same run.
func joinParts(ctx context.Context, s *step, r *remarks, b joining) (*merged, error) {
	j := &merged{run: b.run}
	if s.part() != nil || b.run.Progress.Status == state.Completed || len(b.run.Parts) == 0 {
		return j, nil
	}
	var err error
	if j.found, err = b.from.finder().Parts(ctx, partsQuery(s, b.base, b.run.Parts)); err != nil {
		return nil, err
	}
	for _, f := range j.found {
		ran, err := readPart(s, b.run, f)
		if err != nil {
			j.remove()
			return nil, err
		}
		j.ran = append(j.ran, ran)
	}
	out, err := state.Joining{Base: b.run, Parts: j.ran, JobOf: b.jobOf, Now: factsOf(s).Now}.Join()
	if err == nil {
		err = appendEvents(b.base.Dir, b.run, out.Events)
	}
	if err == nil {
		err = j.takeLogs(b.base.Dir)
	}
	if err != nil {
		j.remove()
		return nil, joinProblem(err)
	}
	j.run, j.took = out.Run, out.Took
	j.tell(s, r)
	return j, j.bringWork(ctx, s, r)
}

// joinProblem says that parts can't be joined.
func joinProblem(err error) error {
	var conflict *state.PartConflict
	if errors.As(err, &conflict) {
		return &problem.Problem{Class: problem.ClassConflict, Where: "parts of the run", What: err.Error(),
			Hint: "delete the artifacts of one of them, or start anew with resume: never"}
	}
	return err
}

// openPart reads the run of a part, and moves it to this machine.
func openPart(s *step, f *slots.Found) (*state.Run, error) {
	run, err := readState(f)
	if err != nil {
		return nil, err
	}
	where, err := relocation(s, f)
	if err != nil {
		return nil, err
	}
	if f.Manifest.PartName() != "" && len(f.Manifest.Lacks()) > 0 {
		s.voice.warn(fmt.Sprintf("the part in %s was stored without its %s: %s", f.Artifact.Name, strings.Join(f.Manifest.Lacks(), " and "), strings.Join(f.Manifest.Causes(), "; ")))
		run.Forget(func(string) bool { return true })
	}
	return run.Relocate(where)
}

// takeLogs takes over the logs of the parts' agents.
func (j *merged) takeLogs(to string) error {
	for i, ran := range j.ran {
		if len(ran.Runs) == 0 {
			continue
		}
		from := filepath.Join(j.found[i].All[0].Dir, "logs")
		entries, err := os.ReadDir(from)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !e.IsDir() || !ran.Part.Has(e.Name()) {
				continue
			}
			dir := filepath.Join(to, "logs", e.Name())
			if err := errors.Join(os.MkdirAll(filepath.Dir(dir), 0o700), os.RemoveAll(dir), os.Rename(filepath.Join(from, e.Name()), dir)); err != nil {
				return err
			}
		}
	}
	return nil
}

// bringWork adds the work of each part as branches raymond/AGENT, for a script to merge.
func (j *merged) bringWork(ctx context.Context, s *step, r *remarks) error {
	for i, ran := range j.ran {
		if !j.took[i] || s.in.Workspace == job.WorkspaceNone {
			continue
		}
		found := j.found[i].All[0]
		where, err := relocation(s, found)
		if err != nil {
			return err
		}
		notes, err := s.git().Bring(ctx, workspace.Bringing{Branches: branchesOf(ran), Restoring: workspace.Restoring{
			From: filepath.Join(found.Dir, "workspace"), Dir: where, Token: s.in.GitHubToken, ServerURL: s.getenv("GITHUB_SERVER_URL"), TempRoot: s.dirs.state,
		}})
		if err != nil {
			return workProblem(err)
		}
		for _, note := range notes {
			s.voice.notice(note)
		}
		r.notes = append(r.notes, notes...)
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

// tell says what was joined.
func (j *merged) tell(s *step, r *remarks) {
	taken, missing, running := 0, 0, 0
	for i, ran := range j.ran {
		switch {
		case ran.Running:
			running++
		case len(ran.Runs) > 0:
			taken++
		case !ran.Part.Earlier && !slices.Contains(s.options.Jobs, ran.Part.Job): // or else this step runs them
			missing++
		}
		for _, n := range j.found[i].Notices {
			s.voice.notice(n)
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
	r.say(s, text)
}

// placeTranscripts puts the conversations of the parts' agents where the agent CLIs of this
// machine look for them.
func (j *merged) placeTranscripts(s *step, b placed) error {
	agents := conversationsOf(s)
	for i, ran := range j.ran {
		if len(ran.Runs) == 0 || ran.Running {
			continue
		}
		found := j.found[i].All[0]
		where, err := relocation(s, found)
		if err != nil {
			return err
		}
		own := map[string]bool{}
		for _, t := range checkpoint.Sessions(ran.Own()) {
			own[t.ID] = true
		}
		err = placeTranscripts(found, placing{agents: agents, talks: b.talks, from: found.Dir, where: where, own: own})
		if err != nil {
			return err
		}
	}
	return nil
}
