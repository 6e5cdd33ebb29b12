package workflowtest

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Kind says whose file it is, which some rules depend on.
type Kind int

// Ours is a workflow of this repository, Shown is one for others to copy.
const (
	Ours Kind = iota
	Shown
)

// File is a workflow, an action, or a part of one as a page shows it.
type File struct {
	name string
	kind Kind
	root *yaml.Node
}

// Finding is one place that breaks a rule.
type Finding struct {
	Rule string
	File string
	Line int // 1 is the first
	What string
}

// String is the finding in one line.
func (f Finding) String() string { return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Rule, f.What) }

// Parse reads the text of a file. Name is how findings call it.
func Parse(name string, kind Kind, text []byte) (*File, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(doc.Content) != 1 {
		return nil, fmt.Errorf("read %s: no YAML in it", name)
	}
	return &File{name: name, kind: kind, root: doc.Content[0]}, nil
}

// IsWorkflow reports whether the file is a whole workflow.
func (f *File) IsWorkflow() bool { return value(f.root, "jobs") != nil }

// value is what a mapping has under a key; nil without it.
func value(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		n = entry(n, key)
	}
	return n
}

func entry(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// text is the text of a scalar; "" for anything else.
func text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// leaf is a scalar, a key or a value, and the keys above it.
type leaf struct {
	path []string // an element of a sequence is "-"
	node *yaml.Node
}

// under reports whether the last keys above the leaf are these; "*" is any.
func (l leaf) under(keys ...string) bool {
	if len(l.path) < len(keys) {
		return false
	}
	return slices.EqualFunc(l.path[len(l.path)-len(keys):], keys, func(got, want string) bool { return want == "*" || got == want })
}

// key is the last of the keys.
func (l leaf) key() string {
	if len(l.path) == 0 {
		return ""
	}
	return l.path[len(l.path)-1]
}

// leaves returns all scalars of the file that are values.
func (f *File) leaves() []leaf {
	var all []leaf
	var walk func(path []string, n *yaml.Node)
	walk = func(path []string, n *yaml.Node) {
		switch n.Kind {
		case yaml.ScalarNode:
			all = append(all, leaf{slices.Clone(path), n})
		case yaml.MappingNode:
			for i := 0; i < len(n.Content); i += 2 {
				walk(append(path, n.Content[i].Value), n.Content[i+1])
			}
		default:
			for _, c := range n.Content {
				walk(append(path, "-"), c)
			}
		}
	}
	walk(nil, f.root)
	return all
}

// mappings returns the mappings of the file that have one of the keys.
func (f *File) mappings(keys ...string) []*yaml.Node {
	var all []*yaml.Node
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if slices.ContainsFunc(keys, func(k string) bool { return value(n, k) != nil }) {
			all = append(all, n)
		}
		for _, c := range n.Content {
			walk(c)
		}
	}
	walk(f.root)
	return all
}

// uses returns what says which action, or which workflow, is used.
func (f *File) uses() []*yaml.Node {
	var all []*yaml.Node
	for _, n := range f.mappings("uses") {
		all = append(all, value(n, "uses"))
	}
	return all
}

// job is one job of a workflow.
type job struct {
	name *yaml.Node
	body *yaml.Node
}

func (f *File) jobs() []job {
	jobs := value(f.root, "jobs")
	if jobs == nil {
		return nil
	}
	var all []job
	for i := 0; i+1 < len(jobs.Content); i += 2 {
		all = append(all, job{jobs.Content[i], jobs.Content[i+1]})
	}
	return all
}

// action is the part of a use before the @.
func action(n *yaml.Node) (name, ref string) {
	name, ref, _ = strings.Cut(text(n), "@")
	return name, ref
}
