package slots

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
)

// jobStatus returns the status of the job in the present workflow run that wrote a manifest, or ""
// if unknown. Earlier attempts and earlier steps of the same job are over. For other jobs it
// requests the status from the REST API.
func (s *search) jobStatus(ctx context.Context, m *checkpoint.Manifest) string {
	switch {
	case m.RunAttempt < s.q.Job.Attempt:
		return completed
	case m.Job == s.q.Job.ID && m.Runner == s.q.Job.Runner && m.RunAttempt == s.q.Job.Attempt:
		return completed
	case s.Archive == nil:
		return ""
	}
	jobs, err := within(ctx, s, func(ctx context.Context) ([]artifacts.JobInfo, error) { return s.Archive.Jobs(ctx, s.q.Job.RunID) })
	if err != nil {
		return ""
	}
	return statusOf(jobs, Job{Attempt: m.RunAttempt, ID: m.Job, Runner: m.Runner})
}

// StartOf returns when the present job began, according to the jobs that the REST API lists for its
// workflow run. It returns the zero time if the job can't be identified.
func StartOf(jobs []artifacts.JobInfo, present Job) time.Time {
	jobs = mayBe(keepOnly(jobs, func(j artifacts.JobInfo) bool {
		return j.Status != completed && present.Runner != "" && j.Runner == present.Runner
	}), present)
	if len(jobs) != 1 {
		return time.Time{}
	}
	began, _ := time.Parse(time.RFC3339, jobs[0].Started) // some services leave it empty
	return began
}

// mayBe returns the jobs of a workflow run that may be the given one.
func mayBe(jobs []artifacts.JobInfo, of Job) []artifacts.JobInfo {
	jobs = keepOnly(jobs, func(j artifacts.JobInfo) bool { return j.Attempt == 0 || j.Attempt == of.Attempt })
	hasName := func(j artifacts.JobInfo) bool { return isNamed(j.Name, of.ID) }
	hasRunner := func(j artifacts.JobInfo) bool { return of.Runner != "" && j.Runner == of.Runner }
	for _, is := range []func(artifacts.JobInfo) bool{
		func(j artifacts.JobInfo) bool { return hasName(j) && hasRunner(j) },
		hasName,
		hasRunner, // the workflow file gives the job another name
		func(artifacts.JobInfo) bool { return len(jobs) == 1 },
	} {
		if list := keepOnly(jobs, is); len(list) > 0 {
			return list
		}
	}
	return nil
}

// statusOf returns the status of a job among the jobs of its workflow run, or "" if it can't be
// identified. If several jobs may be it, one in progress counts.
func statusOf(jobs []artifacts.JobInfo, of Job) string {
	list := mayBe(jobs, of)
	if len(list) == 0 {
		return ""
	}
	at := slices.IndexFunc(list, func(j artifacts.JobInfo) bool { return j.Status != completed })
	return list[max(0, at)].Status
}

// isOver reports whether the job of a claim is over, for the job's own process. It identifies jobs
// by their runners only, because names are ambiguous; a job without a runner yet may be this one. A
// later attempt begins only after all jobs are over.
func isOver(jobs []artifacts.JobInfo, mine Claim) bool {
	over := false
	for _, j := range jobs {
		switch {
		case j.Attempt > mine.Attempt:
			over = true
		case j.Attempt != 0 && j.Attempt < mine.Attempt, j.Runner != "" && j.Runner != mine.Runner:
		case j.Status != completed:
			return false
		case j.Runner != "":
			over = true
		}
	}
	return over
}

func keepOnly(list []artifacts.JobInfo, keep func(artifacts.JobInfo) bool) []artifacts.JobInfo {
	return slices.DeleteFunc(slices.Clone(list), func(j artifacts.JobInfo) bool { return !keep(j) })
}

// isNamed reports whether a job's display name is the one GitHub derives from the given id. Jobs of
// a matrix and of a reusable workflow have additions to the id.
func isNamed(name, id string) bool {
	if at := strings.LastIndex(name, " / "); at >= 0 {
		name = name[at+len(" / "):]
	}
	name, _, _ = strings.Cut(name, " (")
	return name == id
}
