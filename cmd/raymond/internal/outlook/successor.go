package outlook

import (
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/raymond-action/raymond-action/state"
)

// workflowFile is what of a workflow file of the forge tells which jobs follow which.
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

// jobID is what the id of a job looks like.
var jobID = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,99}$`)

// Ending is how a step of a job ends, of which it depends who comes next.
type Ending struct {
	Job    string // its id
	Step   string // its id, as GITHUB_ACTION has it
	Key    string // that it was given; "" for the default, which no other job has
	Status state.Status
	IsRed  bool // the step fails
}

// Successor returns the job of the same workflow run that goes on with a run,
// because it comes after this job, starts although this one ended as it does, and
// names the same key for the same action; "" for none. Of several it is the first
// by name. A file that can't be read has none.
func Successor(file []byte, e Ending) string {
	var w workflowFile
	if e.Key == "" || yaml.Unmarshal(file, &w) != nil {
		return ""
	}
	mine := w.use(e)
	var found []string
	for id, j := range w.Jobs {
		shares := slices.ContainsFunc(j.Steps, func(s jobStep) bool { return s.takesUp() && s.shares(mine, e.Key) })
		if shares && jobID.MatchString(id) && w.follows(id, e.Job, map[string]bool{}) && startsAfter(j.If, e) {
			found = append(found, id)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return slices.Min(found)
}

// use finds the step that ends, by its id, else by the key that it was given. Where
// it could be several it is none.
func (w *workflowFile) use(e Ending) jobStep {
	var fit []jobStep
	for _, s := range w.Jobs[e.Job].Steps {
		if s.action() == "" || !s.gives(e.Key) {
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

// action is what a step uses, without its version.
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

var expressions = regexp.MustCompile(`\$\{\{.*?\}\}`)

// gives reports whether the key of a step can be the given one: expressions in it may
// have any value.
func (s jobStep) gives(key string) bool {
	var pattern strings.Builder
	rest := s.input("key")
	for _, at := range expressions.FindAllString(rest, -1) {
		before, after, _ := strings.Cut(rest, at)
		pattern.WriteString(regexp.QuoteMeta(before) + ".*")
		rest = after
	}
	re, err := regexp.Compile(`(?s)\A` + pattern.String() + regexp.QuoteMeta(rest) + `\z`)
	return err == nil && rest+pattern.String() != "" && re.MatchString(key)
}

// perJob are what expressions may name that has another value in another job.
var perJob = regexp.MustCompile(`\b(env|job|jobs|steps|runner|strategy|matrix|needs)\b|\bgithub\.(job|action)|\[`)

// takesUp reports whether a step goes on with a run that it finds.
func (s jobStep) takesUp() bool {
	return slices.Contains([]string{"", "run"}, s.input("mode")) && slices.Contains([]string{"", "auto", "require"}, s.input("resume"))
}

// shares reports whether a step of another job has the key that one was given:
// because the key stands there, or because both write it alike and it depends on
// nothing that differs between jobs.
func (s jobStep) shares(mine jobStep, key string) bool {
	switch {
	case s.action() == "" || s.action() != mine.action():
		return false
	case s.input("key") == key:
		return true
	}
	isAlike := s.key() == mine.key()
	for _, e := range expressions.FindAllString(s.input("key"), -1) {
		isAlike = isAlike && !perJob.MatchString(e)
	}
	return isAlike
}

// follows reports whether a job needs another one, by way of others maybe.
func (w *workflowFile) follows(id, other string, seen map[string]bool) bool {
	if seen[id] {
		return false
	}
	seen[id] = true
	return slices.ContainsFunc(needed(w.Jobs[id].Needs), func(n string) bool {
		return n == other || w.follows(n, other, seen)
	})
}

// needed reads what needs: has, a name or a list of them.
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

// startsAfter reports whether a job with such a condition may start after a job
// that ended so.
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
