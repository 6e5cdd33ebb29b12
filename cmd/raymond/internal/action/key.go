package action

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
)

// chooseKey finds the identity of the run. A key that the step was told goes before the
// one that it would have itself.
func chooseKey(env Env, e job.Event, in job.Settings) (key string, err error) {
	key = cmp.Or(toldKey(e, in), in.Key, job.DefaultKey(env.Getenv, e, in.Matrix))
	if in.Key == "" && in.Mode == job.ModeRun && in.IsCalled {
		err = problem.Usage("input key", "is missing: in a reusable workflow there is no default, since two calls of it can't be told apart",
			"let the caller give one, as by an input of the workflow")
	}
	return key, err
}

// toldKey is the key of the run that a dispatch of the workflow asks to continue; "" for
// none. Anybody who may dispatch the workflow can write anything there: it is compared with
// the keys of runs that this repository's own jobs have stored, and nothing is ever stored
// under it that was not found under it. On other events it counts for nothing, since its
// text might be a stranger's.
func toldKey(e job.Event, in job.Settings) string {
	if e.Name != "workflow_dispatch" || in.Mode != job.ModeRun {
		return ""
	}
	return cmp.Or(in.RaymondKey, e.Dispatched)
}

// isTold reports whether the step was told the key of its run. It then continues that run,
// or does nothing.
func isTold(e job.Event, in job.Settings) bool { return toldKey(e, in) != "" }

// reserveKey sees to it that two steps of a job don't share a key unawares: a
// default key that an earlier step has used is a mistake.
func reserveKey(s *step) error {
	name := digestOf(fmt.Sprintf("%q %d %d %q %q %q", s.event.Repository.Name, s.event.RunID, s.event.Attempt, s.event.Job, s.in.Matrix, s.key))
	dir := filepath.Join(s.dirs.all, keysFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return problem.OfMachine("RUNNER_TEMP", err)
	}
	err := os.Mkdir(filepath.Join(dir, name), 0o700)
	switch {
	case err == nil, errors.Is(err, fs.ErrExist) && (s.in.Key != "" || isTold(s.event, s.in)):
		return nil
	case errors.Is(err, fs.ErrExist):
		return problem.Usage("input key", fmt.Sprintf("is missing: an earlier step of this job has used the default, %q", s.key),
			"name a key of its own, or this one to resume that step's run")
	}
	return problem.OfMachine("RUNNER_TEMP", err)
}

// keyOf says whose key a run has that this step begins.
func keyOf(e job.Event, in job.Settings) *checkpoint.KeyOrigin {
	return &checkpoint.KeyOrigin{Job: e.Job, Matrix: in.Matrix, Default: in.Key == ""}
}

// keptKeyOf says whose key a run has that this step resumes; was is nil where nothing
// tells it.
func keptKeyOf(e job.Event, in job.Settings, was *checkpoint.KeyOrigin) *checkpoint.KeyOrigin {
	switch now := keyOf(e, in); {
	case was == nil:
		return now
	case was.Matrix == now.Matrix:
		return was.WithJob(now.Job)
	}
	return was
}

// mayTake reports whether the step may resume a run whose key it has not chosen itself,
// but was told by the marker of a comment or by the input raymond-key. A step that may
// not ends without having begun anything, as notTaken says.
func mayTake(e job.Event, in job.Settings, m *checkpoint.Manifest) bool {
	return slots.Taker{
		Key: in.Key, Job: e.Job, Matrix: in.Matrix, RunID: e.RunID, NamesJob: in.NamesJob,
		Called: in.IsCalled,
	}.MayTake(m)
}

// notTaken is the line with which a step ends that may not take a run.
func notTaken(log *jobLog, m *checkpoint.Manifest) string {
	whose := "another job"
	if m.KeyOrigin != nil && m.KeyOrigin.Job != "" {
		whose = "job " + m.KeyOrigin.Job
	}
	return log.shown("nothing is started: the run of the key " + m.Key + " is continued by " + whose + ", or by a step that names this key")
}
