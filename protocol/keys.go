package protocol

import "slices"

// Keys returns the keys of a frontmatter.
func Keys() []string {
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	return names
}

// EntryKeys returns the keys of an entry of allowed_transitions, which may also have those of
// the tag's attributes.
func EntryKeys() []string { return slices.Clone(ruleKeys) }

// ScriptOptions returns the options that the comment of a script may set.
func ScriptOptions() []string {
	var names []string
	for _, o := range scriptOptions {
		names = append(names, o.name)
	}
	return names
}

// Attributes returns the attributes of a tag, the required one first. A fork may
// have others: the variables of the new agent.
func Attributes(v Verb) []string { return slices.Clone(attributesOf[v]) }

// PermissionModes returns the permission modes, from the one that allows least.
func PermissionModes() []string { return slices.Clone(permissionModes) }
