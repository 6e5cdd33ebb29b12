package protocol

import "slices"

// keys are those of a frontmatter, in the order in which people read of them. What each means
// is in docs/reference.md.
var keys = []string{
	"allowed_transitions", "allowed_tags", "allowed_targets",
	"agent", "model", "effort", "timeout", "idle_timeout",
	"permission_mode", "allowed_tools", "disallowed_tools",
	"done_when", "max_attempts", "max_ralph_iters", "backoff", "attempt_context", "done_when_timeout", "on_exhausted", "protect",
	"result_schema", "input_schema", "job", "on_comment",
}

// Keys returns the keys of a frontmatter.
func Keys() []string { return slices.Clone(keys) }

// EntryKeys returns the keys of an entry of allowed_transitions, which may also have those of
// the tag's attributes.
func EntryKeys() []string { return slices.Clone(ruleKeys) }

// ScriptOptions returns the options that the comment of a script may set.
func ScriptOptions() []string { return slices.Clone(scriptOptions) }

// Attributes returns the attributes of a tag, the required one first. A fork may
// have others: the variables of the new agent.
func Attributes(v Verb) []string { return slices.Clone(attributesOf[v]) }

// PermissionModes returns the permission modes, from the one that allows least.
func PermissionModes() []string { return slices.Clone(permissionModes) }
