package action

import (
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
)

// keyOf says whose key a run has that this step begins.
func keyOf(s *step) *checkpoint.KeyOf {
	return &checkpoint.KeyOf{Job: s.getenv("GITHUB_JOB"), Matrix: s.in.Matrix, Default: s.in.Key == ""}
}

// keptKeyOf says whose key a run has that this step resumes; was is nil where nothing
// tells it.
func keptKeyOf(s *step, was *checkpoint.KeyOf) *checkpoint.KeyOf {
	switch now := keyOf(s); {
	case was == nil:
		return now
	case was.Matrix == now.Matrix:
		return was.With(now.Job)
	}
	return was
}

// mayTake reports whether the step may resume a run whose key it has not chosen itself,
// but was told by the marker of a comment or by the input raymond-key. A step that may
// not ends without having begun anything, as notTaken says.
func mayTake(s *step, m *checkpoint.Manifest) bool {
	return slots.Taker{
		Key: s.in.Key, Job: s.getenv("GITHUB_JOB"), Matrix: s.in.Matrix, RunID: s.number("GITHUB_RUN_ID"), NamesJob: s.in.NamesJob,
		Called: job.IsCalled(s.getenv, s.in.JobWorkflow),
	}.MayTake(m)
}

// notTaken is the line with which a step ends that may not take a run.
func notTaken(s *step, m *checkpoint.Manifest) string {
	whose := "another job"
	if m.KeyOf != nil && m.KeyOf.Job != "" {
		whose = "job " + m.KeyOf.Job
	}
	return s.voice.shown("nothing is started: the run of the key " + m.Key + " is continued by " + whose + ", or by a step that names this key")
}
