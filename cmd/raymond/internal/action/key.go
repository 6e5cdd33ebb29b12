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

// chooseKey returns the key of the run. A key from the event takes precedence over the step's own.
func chooseKey(env Env, e job.Event, in job.Settings) (key string, err error) {
	key = cmp.Or(toldKey(e, in), in.Key, job.DefaultKey(env.Getenv, e, in.Matrix))
	if in.Key == "" && in.Mode == job.ModeRun && in.IsCalled {
		err = problem.Usage("input key", "is missing: a job of a reusable workflow has no default key, because the action can't distinguish two calls of that workflow",
			"add an input to the reusable workflow, let each caller pass a key, and set key to it")
	}
	return key, err
}

// toldKey returns the key of the run that a workflow_dispatch event asks to continue, or "". Every
// user who may dispatch the workflow controls this text, so it is only compared with the keys of
// runs that this repository's own jobs have stored, and this step stores under it only if a run was
// found under it. Other events may carry text of strangers, so their input is ignored.
func toldKey(e job.Event, in job.Settings) string {
	if e.Name != "workflow_dispatch" || in.Mode != job.ModeRun {
		return ""
	}
	return cmp.Or(in.RaymondKey, e.Dispatched)
}

// isTold reports whether the event names the key of the run. The step then continues that run or
// does nothing.
func isTold(e job.Event, in job.Settings) bool { return toldKey(e, in) != "" }

// reserveKey keeps two steps of a job from sharing a key by accident: it returns a problem if an
// earlier step has used the same default key.
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
			"give this step its own key, or name the same key to continue the earlier step's run")
	}
	return problem.OfMachine("RUNNER_TEMP", err)
}

// keyOf returns which job a key belongs to, for a run that this step begins.
func keyOf(e job.Event, in job.Settings) *checkpoint.KeyOrigin {
	return &checkpoint.KeyOrigin{Job: e.Job, Matrix: in.Matrix, Default: in.Key == ""}
}

// keptKeyOf returns which jobs a key belongs to, for a run that this step resumes. was is the value
// in the run's checkpoint, or nil for none.
func keptKeyOf(e job.Event, in job.Settings, was *checkpoint.KeyOrigin) *checkpoint.KeyOrigin {
	switch now := keyOf(e, in); {
	case was == nil:
		return now
	case was.Matrix == now.Matrix:
		return was.WithJob(now.Job)
	}
	return was
}

// mayTake reports whether the step may resume a run whose key comes from the marker of a comment or
// from the input raymond-key rather than from the step's own inputs. If not, the step ends with the
// text of notTaken before it has begun anything.
func mayTake(e job.Event, in job.Settings, m *checkpoint.Manifest) bool {
	return slots.Taker{
		Key: in.Key, Job: e.Job, Matrix: in.Matrix, RunID: e.RunID, NamesJob: in.NamesJob,
		Called: in.IsCalled,
	}.MayTake(m)
}

// notTaken returns the line with which a step ends that may not continue a run.
func notTaken(log *jobLog, m *checkpoint.Manifest) string {
	whose := "another job"
	if m.KeyOrigin != nil && m.KeyOrigin.Job != "" {
		whose = "job " + m.KeyOrigin.Job
	}
	return log.shown("nothing is started: the run with the key " + m.Key + " is continued by " + whose + ", or by a step that names this key")
}
