package protocol

import "slices"

// Keys returns the keys of a frontmatter.
func Keys() []string { return namesOf(keys) }

func namesOf(list []key) (names []string) {
	for _, k := range list {
		names = append(names, k.name)
	}
	return names
}

// EntryKeys returns the keys of an entry of allowed_transitions, which may also have those of
// the tag's attributes.
func EntryKeys() []string { return slices.Clone(ruleKeys) }

// ScriptOptions returns the options that the comment of a script may set.
func ScriptOptions() []string { return namesOf(scriptOptions) }

// Attributes returns the attributes of a tag, the required one first. A fork may
// have others: the variables of the new agent.
func Attributes(v Verb) []string { return slices.Clone(attributesOf[v]) }

// PermissionModes returns the permission modes, from the one that allows least.
func PermissionModes() []string { return slices.Clone(permissionModes) }
