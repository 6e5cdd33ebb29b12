package workflowtest

import (
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// excessivePermissions: the workflow says what its token may do; writing is
// granted to jobs, one by one. A file to copy that has only one job may say both at once.
func excessivePermissions(f *File) []place {
	if !f.IsWorkflow() {
		return nil
	}
	top := value(f.root, "permissions")
	if top == nil {
		return []place{{f.root, "no permissions at the top"}}
	}
	alone := f.kind == Shown && len(f.jobs()) == 1
	var all []place
	for i := 1; i < len(top.Content); i += 2 {
		if top.Content[i].Value == "write" && !alone {
			all = append(all, place{top.Content[i], "every job may write " + top.Content[i-1].Value})
		}
	}
	for _, n := range f.mappings("permissions") {
		if p := value(n, "permissions"); p.Kind != yaml.MappingNode {
			all = append(all, place{p, "permissions " + p.Value + ", want each by name"})
		}
	}
	return all
}

// undocumentedPermissions: who reads the file shall see what writing is for.
func undocumentedPermissions(f *File) []place {
	var all []place
	for _, n := range f.mappings("permissions") {
		p := value(n, "permissions")
		for i := 1; i < len(p.Content); i += 2 {
			if v := p.Content[i]; v.Value == "write" && v.LineComment == "" {
				all = append(all, place{v, p.Content[i-1].Value + ": write without a comment that says what for"})
			}
		}
	}
	return all
}

// triggers are the names of the events of a workflow.
func (f *File) triggers() []*yaml.Node {
	on := value(f.root, "on")
	if on == nil {
		return nil
	}
	if on.Kind == yaml.ScalarNode {
		return []*yaml.Node{on}
	}
	var all []*yaml.Node
	for i, n := range on.Content {
		if on.Kind == yaml.SequenceNode || i%2 == 0 {
			all = append(all, n)
		}
	}
	return all
}

// dangerousTriggers: they give strangers' code a token that writes.
func dangerousTriggers(f *File) []place {
	var all []place
	for _, n := range f.triggers() {
		if n.Value == "pull_request_target" || n.Value == "workflow_run" {
			all = append(all, place{n, "trigger " + n.Value})
		}
	}
	return all
}

var (
	expression  = regexp.MustCompile(`(?s)\$\{\{(.*?)\}\}`)
	wholeSecret = regexp.MustCompile(`\bsecrets\s*(\[|$|[^.\s\w])`)
	anySecret   = regexp.MustCompile(`\bsecrets\b|\bgithub\.token\b`)
)

// expressions are the texts between braces; a condition is one without them.
func expressions(l leaf) []string {
	var all []string
	for _, m := range expression.FindAllStringSubmatch(l.node.Value, -1) {
		all = append(all, strings.TrimSpace(m[1]))
	}
	if l.key() == "if" && len(all) == 0 {
		all = append(all, l.node.Value)
	}
	return all
}

// allSecrets: the job's log can't mask what nobody named.
func allSecrets(f *File) []place {
	return f.matching("all secrets at once; name the one that is needed", func(l leaf) bool {
		return slices.ContainsFunc(expressions(l), wholeSecret.MatchString)
	})
}

// secretsOutsideSteps: a secret of a job or a workflow is one of every step.
func secretsOutsideSteps(f *File) []place {
	if !f.IsWorkflow() {
		return nil
	}
	return f.matching("secret outside of a step's env and with", func(l leaf) bool {
		inStep := l.under("steps", "-", "env", "*") || l.under("steps", "-", "with", "*") || l.under("secrets", "*")
		return !inStep && slices.ContainsFunc(expressions(l), anySecret.MatchString)
	})
}

// noConcurrency: two runs at a time.
func noConcurrency(f *File) []place {
	if !f.IsWorkflow() || limited(f.root) {
		return nil
	}
	var all []place
	for _, j := range f.jobs() {
		if !limited(j.body) {
			all = append(all, place{j.name, "neither the job nor the workflow has a concurrency group"})
		}
	}
	return all
}

func limited(n *yaml.Node) bool {
	c := value(n, "concurrency")
	return text(c) != "" || text(value(c, "group")) != ""
}

// noTimeout: a job that hangs is paid for six hours.
func noTimeout(f *File) []place {
	var all []place
	for _, j := range f.jobs() {
		if value(j.body, "uses") == nil && value(j.body, "timeout-minutes") == nil {
			all = append(all, place{j.name, "job " + j.name.Value + " has no timeout-minutes"})
		}
	}
	return all
}
