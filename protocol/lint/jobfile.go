package lint

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/raymond-action/raymond-action/protocol"
)

// JobFile describes a workflow file of GitHub Actions: the events that start it, the order of its
// jobs, and the actions and inputs of their steps.
type JobFile struct {
	Path string // the path that findings print
	// Steps are the steps with an action or a command, and the jobs that call a workflow, in the
	// order of the file.
	Steps []Step

	on    *yaml.Node
	needs map[string][]string // the jobs that each job needs, by id
}

// Step is a step of a job, or a job that calls a workflow.
type Step struct {
	Job    string // id of the job
	If     string // condition of the job
	Index  int    // position of the step in its job, counted from 0
	Action string // name of the action, without its version; "" for a command
	// CallsWorkflow is true for a job that calls a reusable workflow, whose steps are unknown.
	CallsWorkflow bool
	// HasSecret is true if the step gets a secret or the job's token.
	HasSecret bool
	RunsOn    string   // labels of the job's runner
	Env       []string // variables of the workflow, the job and the step, as NAME=value

	// permissions are the permissions of the job or, if the job sets none, of the workflow. If
	// neither sets permissions, the field is nil, and the repository's default applies.
	permissions *yaml.Node

	file *JobFile
	at   protocol.Pos
	with map[string]*yaml.Node
}

// ReadJobFile parses the text of a workflow file. path is the name of the file in findings.
func ReadJobFile(path string, text []byte) (*JobFile, error) {
	root, problem := protocol.ParseYAML(string(text))
	if problem != nil {
		return nil, errors.New(problem.String())
	}
	f := &JobFile{Path: path, on: protocol.MapValue(root, "on"), needs: map[string][]string{}}
	jobs := protocol.MapValue(root, "jobs")
	if jobs == nil {
		return nil, errors.New("it has no jobs")
	}
	if jobs.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: jobs is not a mapping", jobs.Line)
	}
	for i := 0; i+1 < len(jobs.Content); i += 2 {
		id, body := jobs.Content[i].Value, jobs.Content[i+1]
		f.needs[id] = texts(protocol.MapValue(body, "needs"))
		of := Step{Job: id, If: scalar(protocol.MapValue(body, "if")), file: f} // the fields that all steps of the job share
		of.permissions = cmp.Or(protocol.MapValue(body, "permissions"), protocol.MapValue(root, "permissions"))
		of.RunsOn, of.Env = strings.Join(texts(protocol.MapValue(body, "runs-on")), " "), append(environ(root), environ(body)...)
		steps := protocol.MapValue(body, "steps")
		switch {
		case protocol.MapValue(body, "uses") != nil:
			of.CallsWorkflow = true
			f.addStep(of, body)
		case steps != nil && steps.Kind == yaml.SequenceNode:
			for i, step := range steps.Content {
				of.Index = i
				f.addStep(of, step)
			}
		}
	}
	return f, nil
}

// environ returns the variables in the env key of a mapping, as NAME=value.
func environ(body *yaml.Node) (list []string) {
	if env := protocol.MapValue(body, "env"); env != nil && env.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(env.Content); i += 2 {
			list = append(list, env.Content[i].Value+"="+scalar(env.Content[i+1]))
		}
	}
	return list
}

// addStep completes a step with the keys of its mapping, and adds it to f.
func (f *JobFile) addStep(s Step, body *yaml.Node) {
	s.HasSecret, s.Env = hasSecret(body), slices.Concat(s.Env, environ(body))
	s.at, s.with = protocol.PosOf(body), map[string]*yaml.Node{}
	s.Action, _, _ = strings.Cut(scalar(protocol.MapValue(body, "uses")), "@")
	if with := protocol.MapValue(body, "with"); with != nil && with.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(with.Content); i += 2 {
			s.with[strings.ToLower(with.Content[i].Value)] = with.Content[i+1]
		}
	}
	f.Steps = append(f.Steps, s)
}

// secret matches an expression that contains a secret or the job's token.
var secret = pattern(`\$\{\{.*\b(secrets|github\.token)\b`)

// hasSecret reports whether a node contains a secret or the job's token.
func hasSecret(n *yaml.Node) bool {
	return secret().MatchString(n.Value) || slices.ContainsFunc(n.Content, hasSecret)
}

// RaymondSteps returns the steps that have the input workflow and use this action, a fork of it,
// or a local action. It also returns the jobs that call a reusable workflow with that input.
func (f *JobFile) RaymondSteps() []Step {
	return slices.DeleteFunc(slices.Clone(f.Steps), func(s Step) bool { return !s.isRaymond() })
}

// isRaymond reports whether RaymondSteps returns this step.
func (s Step) isRaymond() bool {
	return (s.CallsWorkflow || strings.HasPrefix(s.Action, "./") || s.IsAction()) && s.Input("workflow") != ""
}

// IsAction reports whether the step uses this action itself, or a fork of it.
func (s Step) IsAction() bool {
	return !s.CallsWorkflow && slices.Contains(strings.Split(s.Action, "/"), "raymond-action")
}

// Inputs returns the names of the inputs that the step sets, in lower case and sorted.
func (s Step) Inputs() []string { return slices.Sorted(maps.Keys(s.with)) }

// File returns the path of the workflow file, as findings print it.
func (s Step) File() string { return s.file.Path }

// Pos returns the position of an input in the file, or the position of the step if the input is
// missing.
func (s Step) Pos(input string) protocol.Pos {
	if n := s.with[input]; n != nil {
		return protocol.PosOf(n)
	}
	return s.at
}

// may reports whether the job's token has a permission. level is "read" or "write". If the file
// doesn't show the permission, may returns true.
func (s Step) may(scope, level string) bool {
	given := scalar(s.permissions)
	if s.permissions != nil && s.permissions.Kind == yaml.MappingNode {
		given = cmp.Or(scalar(protocol.MapValue(s.permissions, scope)), "none")
	}
	return s.permissions == nil || strings.HasPrefix(given, "write") || given == level || given == level+"-all" || strings.Contains(given, "${{")
}

// HasNoSchedule reports whether the file lists its events and schedule is not one of them.
func (f *JobFile) HasNoSchedule() bool { return f.on != nil && !f.has("schedule") }

// has reports whether an event starts the workflow.
func (f *JobFile) has(event string) bool {
	return slices.Contains(texts(f.on), event)
}

// Needs reports whether a job needs another one, directly or through other jobs.
func (f *JobFile) Needs(job, other string) bool { return f.isNeeded(job, other, map[string]bool{}) }

// isNeeded reports whether the job id is needed by the job by, directly or through other jobs.
// seen contains the jobs that were visited before.
func (f *JobFile) isNeeded(by, id string, seen map[string]bool) bool {
	if seen[by] {
		return false
	}
	seen[by] = true
	return slices.ContainsFunc(f.needs[by], func(n string) bool { return n == id || f.isNeeded(n, id, seen) })
}

// Input returns an input as written, without surrounding white space. It returns "" if the input
// is missing.
func (s Step) Input(name string) string { return strings.TrimSpace(scalar(s.with[name])) }

// Key returns the input key without white space. An empty result means the default key.
func (s Step) Key() string { return strings.Join(strings.Fields(s.Input("key")), "") }

// HasExpression reports whether an input contains an expression. The file doesn't show the value
// of such an input.
func (s Step) HasExpression(name string) bool { return strings.Contains(s.Input(name), "${{") }

// Runs reports whether a step certainly runs the states of a job.
func (s Step) Runs(job string) bool {
	return !s.CallsWorkflow && slices.ContainsFunc(strings.Split(cmp.Or(s.Input("job"), protocol.MainJob), ","), func(name string) bool {
		return strings.TrimSpace(name) == job
	})
}

// MayRun reports whether a step may run the states of a job. It returns true if the file doesn't
// show which jobs the step runs.
func (s Step) MayRun(j string) bool { return s.CallsWorkflow || s.HasExpression("job") || s.Runs(j) }

// names reports whether the input workflow of a step may mean the workflow at an absolute path.
func (s Step) names(abs string) bool {
	name := strings.TrimPrefix(filepath.ToSlash(filepath.Clean(filepath.FromSlash(s.Input("workflow")))), "./")
	if builtin, ok := strings.CutPrefix(name, BuiltinPrefix); ok {
		return filepath.Base(abs) == builtin || strings.HasSuffix(abs, name)
	}
	return s.HasExpression("workflow") || strings.HasSuffix("/"+strings.TrimPrefix(filepath.ToSlash(abs), "/"), "/"+strings.TrimPrefix(name, "/"))
}

// BuiltinPrefix begins the value of the action's input "workflow" if the value names a built-in example.
const BuiltinPrefix = "builtin:"

// commented matches the if: conditions of jobs that handle comments.
var commented = pattern(`github\.event_name\s*==\s*'(issue_comment|pull_request_review(_comment)?)'|github\.event\.(comment|review)\b`)

// commentEvents are the events that start jobs which handle comments.
var commentEvents = []string{"issue_comment", "pull_request_review", "pull_request_review_comment"}

// handlesComments reports whether comments start the workflow, and the condition of the step's job
// checks for them. It returns false for a job without a condition.
func (s Step) handlesComments() bool {
	return commented().MatchString(s.If) && slices.ContainsFunc(commentEvents, s.file.has)
}

// scalar returns the text of a scalar node, or "" for any other node.
func scalar(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

// texts returns the text of a scalar, the texts of a list, or the keys of a mapping.
func texts(n *yaml.Node) (list []string) {
	if n == nil || n.Kind == yaml.ScalarNode {
		return []string{scalar(n)}
	}
	for i, c := range n.Content {
		if n.Kind == yaml.SequenceNode || i%2 == 0 {
			list = append(list, scalar(c))
		}
	}
	return list
}
