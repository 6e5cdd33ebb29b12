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

// sealKey returns the key with which the main phase authenticates its files for the post phase. It
// returns nil where files are not authenticated: without a runtime token, in a directory that jobs
// share, and under act and runners based on it. act gives the two phases different tokens, and for
// Gitea's runner this is not known.
func sealKey(env Env, in job.Settings, e job.Event, own string) (checkpoints.SealKey, error) {
	token := env.Getenv("ACTIONS_RUNTIME_TOKEN")
	if token == "" || in.IsLocal() || e.IsActBased {
		return nil, nil
	}
	return checkpoints.NewSealKey(token, e.StepID()+"/"+filepath.Base(own))
}

// How often, and at which interval, the post phase checks the files of a main phase that may still
// be writing them.
const (
	sealLooks = 10
	sealPause = 20 * time.Millisecond
)

// checkSeals returns a problem of class denied if a file is not as the main phase left it.
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
		Hint: "the last checkpoint of the main phase is unchanged; check what the agents did before you continue from it",
	}
}

// isDenied reports whether an error means that a file was altered.
func isDenied(err error) bool {
	p, ok := errors.AsType[*problem.Problem](err)
	return ok && p.Class == problem.ClassDenied
}

// isIntact reports whether one file of the main phase is unaltered, regardless of the others.
func isIntact(s *step, name string) bool {
	key, err := sealKey(s.env, s.in, s.event, s.dirs.own)
	return err == nil && key != nil && checkpoints.IsSealed(s.dirs.own, key, name)
}
