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

// StepResult describes how a step of a job ends. It determines which jobs start next.
type StepResult struct {
	Job    string // id of the job
	Key    string // the step's input key; if empty, the step uses the default key, which no other job shares
	Status state.Status
	// Waits lists the agents that wait. If agents wait for jobs, only these jobs can resume the run.
	Waits []report.Wait
}

// Successor returns the name of a later job in the same workflow run that resumes the run. That job
// needs this step's job, and uses the same action with the same key. If there are several such jobs,
// Successor returns the first by name. It returns "" if no job qualifies or the file can't be read. It
// also returns "" unless the run is suspended, because most jobs don't start after a step that failed.
func Successor(file []byte, e StepResult) string {
	f, err := lint.ReadJobFile("", file)
	if e.Key == "" || e.Status != state.Suspended || err != nil {
		return ""
	}
	// A run can continue in the jobs that its agents wait for. If they wait only for other agents, it continues in the
	// main job.
	wanted := []string{protocol.MainJob}
	if slices.ContainsFunc(e.Waits, func(w report.Wait) bool { return w.For != state.ForAgents }) {
		wanted = nil
	}
	for _, w := range e.Waits {
		if w.For == state.ForJob {
			wanted = append(wanted, w.Job)
		}
	}
	var found []string
	for _, s := range f.Steps {
		shares := func(mine lint.Step) bool { return mine.Job == e.Job && sharesKey(mine, s, e.Key) }
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

// perJob matches an expression whose value may differ between jobs.
var perJob = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{\{[^}]*(\b(env|job|jobs|steps|runner|strategy|matrix|needs)\b|\bgithub\.(job|action)|\[)`)
})

// sharesKey reports whether step other has the same key as step mine of another job. It does if it
// contains the key literally. It also does if both steps use the same expression for the key and the
// value of the expression is the same in all jobs.
func sharesKey(mine, other lint.Step, key string) bool {
	switch {
	case mine.CallsWorkflow || other.CallsWorkflow || mine.Action == "" || mine.Action != other.Action:
		return false
	case !other.HasExpression("key"):
		return other.Input("key") == key
	}
	return mine.Key() == other.Key() && !perJob().MatchString(other.Key())
}
