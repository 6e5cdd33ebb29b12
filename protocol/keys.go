package protocol

import "slices"

// Keys returns the keys that a frontmatter may contain.
func Keys() []string { return namesOf(keys) }

// namesOf returns the names of the keys in a list.
func namesOf(list []key) (names []string) {
	for _, k := range list {
		names = append(names, k.name)
	}
	return names
}

// EntryKeys returns the keys of an entry of allowed_transitions. An entry may also contain the
// attributes of its tag.
func EntryKeys() []string { return slices.Clone(ruleKeys) }

// ScriptOptions returns the options that a comment in a script may set.
func ScriptOptions() []string { return namesOf(scriptOptions) }

// Attributes returns the attributes of a tag, the required one first. A fork may have other
// attributes too, which become variables of the new agent.
func Attributes(v Verb) []string { return slices.Clone(attributesOf[v]) }

// PermissionModes returns the permission modes, beginning with the strictest.
func PermissionModes() []string { return slices.Clone(permissionModes) }
