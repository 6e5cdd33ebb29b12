// Package jobfile reads a workflow file of GitHub Actions as far as it says what starts it,
// which steps use which action, with which inputs, and in which order their jobs run.
package jobfile

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/raymond-action/raymond-action/protocol"
)

// File is a workflow file.
type File struct {
	Path  string // as errors and findings name it
	Steps []Use  // all that use an action, in the order of the file
	All   []Use  // these, and all that run a command

	on    *yaml.Node
	needs map[string][]string // of each job, by id
}

// Use is a step that uses an action, or a job that calls a workflow.
type Use struct {
	Job    string // the id of the job
	If     string // of the job
	Step   int    // its place among the steps of the job
	ID     string // of the step; "" for none
	Action string // without its version
	// Calls says that the job calls a workflow: what runs in it is not known.
	Calls bool
	// HasSecret says that the step is given a secret, or the token of the job.
	HasSecret bool
	At        Pos // of the step
	with      map[string]*yaml.Node
}

// Pos is a place in the file; both numbers start at 1.
type Pos struct{ Line, Col int }

// Parse reads the text of a workflow file.
func Parse(path string, text []byte) (*File, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) != 1 || entry(doc.Content[0], "jobs") == nil {
		return nil, errors.New("it has no jobs")
	}
	root := doc.Content[0]
	f := &File{Path: path, on: entry(root, "on"), needs: map[string][]string{}}
	jobs := entry(root, "jobs")
	if jobs.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: jobs is no mapping", jobs.Line)
	}
	for i := 0; i+1 < len(jobs.Content); i += 2 {
		f.addJob(jobs.Content[i].Value, resolved(jobs.Content[i+1]))
	}
	return f, nil
}

func (f *File) addJob(id string, body *yaml.Node) {
	f.needs[id] = texts(entry(body, "needs"))
	of := Use{Job: id, If: scalar(entry(body, "if"))}
	if entry(body, "uses") != nil {
		of.Calls = true
		f.Steps = append(f.Steps, of.filled(body))
		return
	}
	steps := entry(body, "steps")
	if steps == nil || steps.Kind != yaml.SequenceNode {
		return
	}
	for i, step := range steps.Content {
		step, of.Step = resolved(step), i
		u := of.filled(step)
		f.All = append(f.All, u)
		if entry(step, "uses") != nil {
			f.Steps = append(f.Steps, u)
		}
	}
}

// secret matches an expression with a secret, or with the token of the job.
var secret = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{\{.*\b(secrets|github\.token)\b`) })

func hasSecret(n *yaml.Node) bool {
	return secret().MatchString(n.Value) || slices.ContainsFunc(n.Content, hasSecret)
}

// filled is a use with what its mapping says.
func (u Use) filled(body *yaml.Node) Use {
	u.HasSecret = hasSecret(body)
	u.ID, u.At, u.with = scalar(entry(body, "id")), posOf(body), map[string]*yaml.Node{}
	u.Action, _, _ = strings.Cut(scalar(entry(body, "uses")), "@")
	if with := entry(body, "with"); with != nil && with.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(with.Content); i += 2 {
			u.with[strings.ToLower(with.Content[i].Value)] = resolved(with.Content[i+1])
		}
	}
	return u
}

// Uses returns the steps that use this action, or a fork or a copy of it, and name a workflow
// of agents, and the jobs that call a workflow with one: a local action may be any.
func (f *File) Uses() []Use {
	return slices.DeleteFunc(slices.Clone(f.Steps), func(u Use) bool {
		parts := strings.Split(strings.TrimSuffix(u.Action, "/"), "/")
		isOurs := u.Calls || parts[0] == "." || slices.Contains(parts, "raymond-action")
		return !isOurs || u.Input("workflow") == ""
	})
}

// SaysOn reports whether the file says what starts the workflow.
func (f *File) SaysOn() bool { return f.on != nil }

// Has reports whether an event starts the workflow.
func (f *File) Has(event string) bool {
	return slices.Contains(texts(f.on), event) || entry(f.on, event) != nil
}

// HasDispatchInput reports whether somebody who starts the workflow by workflow_dispatch
// can give an input.
func (f *File) HasDispatchInput(name string) bool {
	return entry(entry(entry(f.on, "workflow_dispatch"), "inputs"), name) != nil
}

// Follows reports whether a use comes after another one of the file, in the same job or
// in one that needs that one's.
func (f *File) Follows(later, earlier Use) bool {
	if later.Job == earlier.Job {
		return later.Step > earlier.Step
	}
	return f.Needs(later.Job, earlier.Job)
}

// Needs reports whether a job needs another one, directly or by way of others.
func (f *File) Needs(job, other string) bool { return f.isNeeded(job, other, map[string]bool{}) }

func (f *File) isNeeded(by, id string, seen map[string]bool) bool {
	if seen[by] {
		return false
	}
	seen[by] = true
	return slices.ContainsFunc(f.needs[by], func(n string) bool { return n == id || f.isNeeded(n, id, seen) })
}

// Input is an input as the file has it, without white space around it; "" for none.
func (u Use) Input(name string) string { return strings.TrimSpace(scalar(u.with[name])) }

// Key is the input key without blanks; "" for the default.
func (u Use) Key() string { return strings.Join(strings.Fields(u.Input("key")), "") }

// Place is where an input is written, or else the step.
func (u Use) Place(name string) Pos {
	if n := u.with[name]; n != nil {
		return posOf(n)
	}
	return u.At
}

// IsOpen reports whether an input has an expression in it, whose value the file doesn't
// tell.
func (u Use) IsOpen(name string) bool { return strings.Contains(u.Input(name), "${{") }

// Runs reports whether a step runs the states of a job, and whether the file tells.
func (u Use) Runs(job string) (runs, known bool) {
	if u.Calls || u.IsOpen("job") {
		return false, false
	}
	return slices.ContainsFunc(strings.Split(cmp.Or(u.Input("job"), protocol.MainJob), ","), func(name string) bool {
		return strings.TrimSpace(name) == job
	}), true
}

// commented matches conditions of jobs that handle comments.
var commented = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`github\.event_name\s*==\s*'(issue_comment|pull_request_review(_comment)?)'|github\.event\.(comment|review)\b`)
})

// commentEvents start jobs that handle comments.
var commentEvents = []string{"issue_comment", "pull_request_review", "pull_request_review_comment"}

// HandlesComments reports whether the condition of a use's job lets comments start it. Of a
// job without condition nothing is known.
func (f *File) HandlesComments(u Use) bool {
	return commented().MatchString(u.If) && slices.ContainsFunc(commentEvents, f.Has)
}

func posOf(n *yaml.Node) Pos { return Pos{max(1, n.Line), max(1, n.Column)} }

// entry is what a mapping has under a key; nil without it.
func entry(n *yaml.Node, key string) *yaml.Node {
	if n = resolved(n); n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return resolved(n.Content[i+1])
		}
	}
	return nil
}

// resolved is the node that an alias stands for.
func resolved(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// scalar is the text of a scalar; "" for anything else.
func scalar(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

// texts are the texts of one scalar or of a list of them.
func texts(n *yaml.Node) []string {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		return []string{scalar(n)}
	}
	var list []string
	for _, c := range n.Content {
		list = append(list, scalar(resolved(c)))
	}
	return list
}
