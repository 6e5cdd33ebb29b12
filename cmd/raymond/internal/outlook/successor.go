package outlook

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// workflowFile is the part of a workflow file that says which jobs follow which.
type workflowFile struct {
	Jobs map[string]struct {
		Needs any       `yaml:"needs"`
		If    string    `yaml:"if"`
		Steps []jobStep `yaml:"steps"`
	} `yaml:"jobs"`
}

type jobStep struct {
	ID   string         `yaml:"id"`
	Uses string         `yaml:"uses"`
	With map[string]any `yaml:"with"`
}

// jobID matches the id of a job.
var jobID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,99}$`) })

// Ending is how a step of a job ends. Which jobs start next depends on it.
type Ending struct {
	Job    string // its id
	Step   string // its id, as GITHUB_ACTION has it
	Key    string // the input of the step; "" for the default, which no other job has
	Status state.Status
	IsRed  bool // the step fails
	// Waits are the agents that wait. Only a job for which one of them waits resumes a run
	// that has any.
	Waits []report.Wait
}

// jobs are the jobs of which one has to run next.
func (e Ending) jobs() []string {
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
// this job, starts after such an ending, and names the same key for the same action.
// It returns the first by name of several, and "" if there is none or the file can't be
// read.
func Successor(file []byte, e Ending) string {
	var w workflowFile
	if e.Key == "" || yaml.Unmarshal(file, &w) != nil {
		return ""
	}
	mine, wanted := w.findStep(e), e.jobs()
	var found []string
	for id, j := range w.Jobs {
		shares := slices.ContainsFunc(j.Steps, func(s jobStep) bool { return s.mayResume() && s.runs(wanted) && s.shares(mine, e.Key) })
		if shares && jobID().MatchString(id) && w.follows(id, e.Job, map[string]bool{}) && startsAfter(j.If, e) {
			found = append(found, id)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return slices.Min(found)
}

// findStep finds the step that ends, by its id or else by its key. It returns the zero
// step if it could be one of several.
func (w *workflowFile) findStep(e Ending) jobStep {
	var fit []jobStep
	for _, s := range w.Jobs[e.Job].Steps {
		if s.action() == "" || !s.mayHaveKey(e.Key) {
			continue
		}
		if s.ID != "" && s.ID == e.Step {
			return s
		}
		fit = append(fit, s)
	}
	if len(fit) == 0 || slices.ContainsFunc(fit, func(s jobStep) bool { return s.key() != fit[0].key() || s.action() != fit[0].action() }) {
		return jobStep{}
	}
	return fit[0]
}

// action is the action that a step uses, without its version.
func (s jobStep) action() string {
	name, _, _ := strings.Cut(s.Uses, "@")
	return name
}

// key is the input key of a step as the file has it, without blanks.
func (s jobStep) key() string { return strings.Join(strings.Fields(s.input("key")), "") }

func (s jobStep) input(name string) string {
	text, _ := s.With[name].(string)
	return text
}

var expressions = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{\{.*?\}\}`) })

// mayHaveKey reports whether a step may have a key. Expressions in the file may have
// any value.
func (s jobStep) mayHaveKey(key string) bool {
	var pattern strings.Builder
	rest := s.input("key")
	for _, at := range expressions().FindAllString(rest, -1) {
		before, after, _ := strings.Cut(rest, at)
		pattern.WriteString(regexp.QuoteMeta(before) + ".*")
		rest = after
	}
	re, err := regexp.Compile(`(?s)\A` + pattern.String() + regexp.QuoteMeta(rest) + `\z`)
	return err == nil && rest+pattern.String() != "" && re.MatchString(key)
}

// perJob matches what has another value in another job, in an expression.
var perJob = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(env|job|jobs|steps|runner|strategy|matrix|needs)\b|\bgithub\.(job|action)|\[`)
})

// mayResume reports whether a step resumes a run that it finds.
func (s jobStep) mayResume() bool {
	return slices.Contains([]string{"", "run"}, s.input("mode")) && slices.Contains([]string{"", "auto", "require"}, s.input("resume"))
}

// runs reports whether a step runs the states of one of these jobs.
func (s jobStep) runs(wanted []string) bool {
	given := cmp.Or(s.input("job"), protocol.MainJob)
	return len(wanted) > 0 && expressions().MatchString(given) || slices.ContainsFunc(strings.Split(given, ","), func(name string) bool {
		return slices.Contains(wanted, strings.TrimSpace(name))
	})
}

// shares reports whether a step of another job has the same key: because that key is
// written there, or because both write the same expression, which has the same value in
// all jobs.
func (s jobStep) shares(mine jobStep, key string) bool {
	switch {
	case s.action() == "" || s.action() != mine.action():
		return false
	case s.input("key") == key:
		return true
	}
	isAlike := s.key() == mine.key()
	for _, e := range expressions().FindAllString(s.input("key"), -1) {
		isAlike = isAlike && !perJob().MatchString(e)
	}
	return isAlike
}

// follows reports whether a job needs another one, directly or by way of others.
func (w *workflowFile) follows(id, other string, seen map[string]bool) bool {
	if seen[id] {
		return false
	}
	seen[id] = true
	return slices.ContainsFunc(needed(w.Jobs[id].Needs), func(n string) bool {
		return n == other || w.follows(n, other, seen)
	})
}

// needed returns the names in the value of needs, which is one name or a list.
func needed(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var names []string
		for _, n := range v {
			if name, ok := n.(string); ok {
				names = append(names, name)
			}
		}
		return names
	}
	return nil
}

// startsAfter reports whether a job with a condition may start after an ending.
func startsAfter(condition string, e Ending) bool {
	says := func(call string) bool { return strings.Contains(strings.ReplaceAll(condition, " ", ""), call) }
	switch {
	case e.Status == state.Cancelled:
		return says("always()")
	case e.IsRed:
		return says("always()") || says("!cancelled()") || says("failure()")
	}
	return true
}
