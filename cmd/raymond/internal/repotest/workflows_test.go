package repotest

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

var (
	// pinned matches an action that is pinned to a commit, with its version in a comment.
	pinned = regexp.MustCompile(`^actions/\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	// ownAction matches this action: a folder, the version tag of releases, or the placeholder COMMIT.
	ownAction = regexp.MustCompile(`^(\./(\.?[\w-][\w./-]*)?|raymond-action/raymond-action(/\S+)?@(v1|COMMIT))$`)
)

// unsafeLines returns the unsafe constructs in a workflow file, or in a part of one.
func unsafeLines(text string) (list []string) {
	var doc yaml.Node
	var workflow struct {
		Permissions map[string]string
		Jobs        map[string]any
	}
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return []string{err.Error()}
	}
	_ = doc.Decode(&workflow) // pages also show lists of steps, which are no mapping
	if workflow.Jobs != nil && workflow.Permissions == nil {
		list = append(list, "no permissions by name at the top")
	}
	for scope, level := range workflow.Permissions {
		if level == "write" && len(workflow.Jobs) > 1 {
			list = append(list, "every job may write "+scope)
		}
	}
	return append(list, unsafeIn(&doc)...)
}

// unsafeIn returns the unsafe constructs in a YAML node and in all nodes below it.
func unsafeIn(n *yaml.Node) (list []string) {
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		value := n.Content[i+1]
		switch key := n.Content[i].Value; {
		case slices.Contains([]string{"run", "shell", "script"}, key) && strings.Contains(value.Value, "${{"):
			list = append(list, "expression in a program's text; hand it over in env: "+value.Value)
		case key == "permissions" && value.Kind != yaml.MappingNode:
			list = append(list, "permissions not by name: "+value.Value)
		case key == "uses":
			list = append(list, faultsOfUse(n, strings.TrimSpace(value.Value+" "+value.LineComment))...)
		}
	}
	for _, c := range n.Content {
		list = append(list, unsafeIn(c)...)
	}
	return list
}

func faultsOfUse(step *yaml.Node, use string) (list []string) {
	var s struct {
		With struct {
			Keeps any `yaml:"persist-credentials"`
		}
	}
	if err := step.Decode(&s); err != nil || strings.HasPrefix(use, "actions/checkout@") && s.With.Keeps != false {
		list = append(list, "checkout without persist-credentials: false")
	}
	if !pinned.MatchString(use) && !ownAction.MatchString(use) {
		list = append(list, "neither ours nor one of GitHub's by its commit, with the version: "+use)
	}
	return list
}

// TestWorkflowFilesAreSafe checks the workflow files of this repository and the workflow files that pages offer for copying.
func TestWorkflowFilesAreSafe(t *testing.T) {
	for _, name := range slices.Concat(glob(t, ".github/workflows/*.yml"), []string{"action.yml"}, copiedWorkflows(t)) {
		texts := []string{readText(t, name)}
		if filepath.Ext(name) == ".md" {
			texts = nil
			for _, b := range blocks(readText(t, name)) {
				if b.language == "yaml" || b.language == "yml" {
					texts = append(texts, b.text)
				}
			}
		}
		for _, text := range texts {
			for _, fault := range unsafeLines(text) {
				t.Errorf("%s: %s", name, fault)
			}
		}
	}
}

// copiedWorkflows returns the files with workflows for users to copy.
func copiedWorkflows(t *testing.T) []string {
	return slices.Concat(glob(t, "examples/*/workflow.yml"), []string{"README.md"}, glob(t, "docs/*.md"), glob(t, "examples/*/README.md"))
}

var pin = regexp.MustCompile(`uses: (actions/[\w./-]+)@([0-9a-f]{40} # v\d+\.\d+\.\d+)`)

// TestPinsAreTheSameEverywhere checks that examples and pages use the same versions of actions as .github/workflows, the only
// folder that dependabot updates. With -update-docs, it copies the versions to examples and pages.
func TestPinsAreTheSameEverywhere(t *testing.T) {
	pins := map[string]string{}
	own := glob(t, ".github/workflows/*.yml")
	for _, name := range own {
		for _, m := range pin.FindAllStringSubmatch(readText(t, name), -1) {
			pins[m[1]] = m[2]
		}
	}
	for _, name := range slices.Concat(own, copiedWorkflows(t)) {
		old := readText(t, name)
		now := pin.ReplaceAllStringFunc(old, func(use string) string {
			m := pin.FindStringSubmatch(use)
			return "uses: " + m[1] + "@" + cmp.Or(pins[m[1]], m[2])
		})
		switch {
		case now == old:
		case *updateDocs:
			rewrite(t, name, now)
		default:
			t.Errorf("%s: got other versions of actions than in .github/workflows, want the same (-update-docs)", name)
		}
	}
}
