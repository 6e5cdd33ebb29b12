package ask

import (
	"regexp"
	"slices"
	"sync"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/protocol/lint"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// StepResult is how a step of a job ends. Which jobs start next depends on it.
type StepResult struct {
	Job       string // its id
	Key       string // the input of the step; "" for the default, which no other job has
	Status    state.Status
	IsFailure bool // the step fails
	// Waits are the agents that wait. Only a job for which one of them waits resumes a run
	// that has any.
	Waits []report.Wait
}

// jobs are the jobs of which one has to run next.
func (e StepResult) jobs() []string {
	if !slices.ContainsFunc(e.Waits, func(w report.Wait) bool { return w.For != state.ForAgents }) {
		return []string{protocol.MainJob}
	}
	var names []string
	for _, w := range e.Waits {
		if w.For == state.ForJob {
			names = append(names, w.Job)
		}
	}
	return names
}

// Successor returns the job of the same workflow run that resumes a run: it comes after
// this job, and names the same key for the same action. It returns the first by name of
// several, and "" if there is none or the file can't be read, or after a step that has failed
// or was cancelled: most jobs don't start then.
func Successor(file []byte, e StepResult) string {
	f, err := lint.ReadJobFile("", file)
	if e.Key == "" || e.IsFailure || e.Status == state.Cancelled || err != nil {
		return ""
	}
	wanted := e.jobs()
	var found []string
	for _, s := range f.Steps {
		shares := func(mine lint.Step) bool { return mine.Job == e.Job && share(mine, s, e.Key) }
		isOne := slices.Contains([]string{"", "run"}, s.Input("mode")) && slices.Contains([]string{"", "auto", "require"}, s.Input("resume")) && slices.ContainsFunc(wanted, s.MayRun) && slices.ContainsFunc(f.Steps, shares)
		if isOne && f.Needs(s.Job, e.Job) {
			found = append(found, s.Job)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return slices.Min(found)
}

// perJob matches an expression that has another value in another job.
var perJob = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{\{[^}]*(\b(env|job|jobs|steps|runner|strategy|matrix|needs)\b|\bgithub\.(job|action)|\[)`)
})

// share reports whether a step of another job has the key of one of this job: because that
// key is written there, or because both write the same expression, which has the same value
// in all jobs.
func share(mine, other lint.Step, key string) bool {
	switch {
	case mine.CallsWorkflow || other.CallsWorkflow || mine.Action == "" || mine.Action != other.Action:
		return false
	case !other.HasExpression("key"):
		return other.Input("key") == key
	}
	return mine.Key() == other.Key() && !perJob().MatchString(other.Key())
}
