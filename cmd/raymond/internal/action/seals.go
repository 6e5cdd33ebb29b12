package action

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
)

// sealKey is what the main part of a step seals its files with, and what the post part
// checks them with; nil where nothing is sealed: without a token of the job, in a folder
// that jobs share, and under act or what is made of it: act gives each part another
// token, and of Gitea's runner it is not known.
func sealKey(env Env, in job.Settings, e job.Event, own string) (checkpoints.SealKey, error) {
	token := env.Getenv("ACTIONS_RUNTIME_TOKEN")
	if token == "" || in.IsLocal() || e.IsActBased {
		return nil, nil
	}
	return checkpoints.NewSealKey(token, e.StepID()+"/"+filepath.Base(own))
}

// How often, and after which pauses, the post part looks at the files of a main part
// that may be on its way out, and writes.
const (
	sealLooks = 10
	sealPause = 20 * time.Millisecond
)

// checkSeals says what the main part has not left as it is now: then its error is a denial.
func checkSeals(s *step) error {
	key, err := sealKey(s.env, s.in, s.event, s.dirs.own)
	if err != nil || key == nil {
		return err
	}
	needed := []string{stepFile, sessionsFile}
	if id := s.note.get().WorkflowID; id != "" {
		needed = append(needed, id+".json", id+".journal")
		for _, name := range []string{checkpoints.ChainFile, session.EventsFile} {
			needed = append(needed, id+"/"+name)
		}
		if event, err := filepath.Rel(s.dirs.own, s.env.Getenv("GITHUB_EVENT_PATH")); err == nil {
			needed = append(needed, filepath.ToSlash(event))
		}
	}
	for range sealLooks {
		if err = checkpoints.CheckSeals(s.dirs.own, key, needed...); err == nil {
			return nil
		}
		time.Sleep(sealPause)
	}
	a, ok := errors.AsType[*checkpoints.Altered](err)
	if !ok {
		return err
	}
	return &problem.Problem{
		Class: problem.ClassDenied, Where: a.Name, What: "altered since this step wrote it; nothing more of the run is stored (" + a.Why + ")",
		Hint: "the last checkpoint that the main part stored is as it was; look at what the agents ran before you continue with it",
	}
}

// isDenied reports whether something was altered.
func isDenied(err error) bool {
	p, ok := errors.AsType[*problem.Problem](err)
	return ok && p.Class == problem.ClassDenied
}

// isIntact reports whether a file of the main part is as it was written, whatever
// became of others.
func isIntact(s *step, name string) bool {
	key, err := sealKey(s.env, s.in, s.event, s.dirs.own)
	return err == nil && key != nil && checkpoints.IsSealed(s.dirs.own, key, name)
}
