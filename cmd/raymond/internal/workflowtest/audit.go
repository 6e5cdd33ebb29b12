package workflowtest

import "gopkg.in/yaml.v3"

// rule is one thing that a file must not have. The names are those of zizmor
// where it has the rule.
type rule struct {
	name string
	find func(f *File) []place
}

// place is where a rule is broken, and how.
type place struct {
	node *yaml.Node
	what string
}

var rules = []rule{
	{"template-injection", templateInjection},
	{"artipacked", keptCredentials},
	{"excessive-permissions", excessivePermissions},
	{"undocumented-permissions", undocumentedPermissions},
	{"unpinned-uses", unpinnedUses},
	{"ref-version-mismatch", unversionedUses},
	{"forbidden-uses", foreignUses},
	{"dangerous-triggers", dangerousTriggers},
	{"overprovisioned-secrets", allSecrets},
	{"secrets-outside-steps", secretsOutsideSteps},
	{"concurrency-limits", noConcurrency},
	{"github-env", writtenEnvironment},
	{"cache-poisoning", cacheInRelease},
	{"unpinned-tools", unpinnedTools},
	{"no-timeout", noTimeout},
}

// Audit returns every place that breaks a rule, by rule. None is a clean file.
func Audit(f *File) []Finding {
	var all []Finding
	for _, r := range rules {
		for _, p := range r.find(f) {
			all = append(all, Finding{Rule: r.name, File: f.name, Line: p.node.Line, What: p.what})
		}
	}
	return all
}

// matching returns the leaves that a test finds, each with the same words.
func (f *File) matching(what string, test func(l leaf) bool) []place {
	var all []place
	for _, l := range f.leaves() {
		if test(l) {
			all = append(all, place{l.node, what})
		}
	}
	return all
}
