package protocol

// Key is something that a workflow file may say, or that lint may find, with a
// sentence about it for the reference.
type Key struct{ Name, Meaning string }

// Keys returns the keys of a frontmatter, in the order in which people read of
// them.
func Keys() []Key {
	return []Key{
		{"allowed_transitions", "a list of entries; the tag must match one of them on every key that the entry names"},
		{"allowed_tags", "the short form: a list of the tags that are allowed"},
		{"allowed_targets", "the short form: a list of the states that target, return and next may name"},
		{"model", "the model for this state; the `model` of a `<function>` goes before it, it before `--model`"},
		{"effort", "the effort for this state, before `--effort`"},
		{"timeout", "the longest time for one invocation, as in 90s or 1h30m, before `--timeout`"},
		{"idle_timeout", "the longest time without output, before `--idle-timeout`"},
		{"permission_mode", "what the agent may do unasked; never more than the run's"},
		{"allowed_tools", "a list of tools the agent may use unasked; with `--allowed-tools` only those of them that the run allows"},
		{"disallowed_tools", "a list of tools the agent may not use, beside those of the run"},
		{"done_when", "a command, or a list of 1 to 64, that must all exit with 0 before the state is done"},
		{"max_attempts", "how many attempts a state with done_when has: 1 to 100, 6 if it says nothing"},
		{"max_ralph_iters", "another name of max_attempts"},
		{"backoff", "the wait between attempts: a map of base and max, or none"},
		{"attempt_context", "what conversation an attempt begins with: that of the entry (a branch of it), a fresh one, or it continues that of the attempt before"},
		{"done_when_timeout", "the longest time for each command of done_when; 10m if it says nothing"},
		{"on_exhausted", "what follows the last attempt: fail (if it says nothing), suspend, or a state"},
		{"protect", "a list of patterns of files that must not change while the state runs"},
	}
}

// EntryKeys returns the keys of an entry of allowed_transitions, which may also
// have those of the tag's attributes.
func EntryKeys() []Key {
	return []Key{
		{"tag", "the name of the tag"},
		{"target", "the state in the tag"},
		{"return", "the state that the attribute return names"},
		{"next", "the state that the attribute next names"},
		{"payload", "the one text that a result may have"},
		{"many", "true allows several forks with the same next at once"},
	}
}

// BackoffKeys returns the keys of backoff.
func BackoffKeys() []Key {
	return []Key{
		{"base", "the wait before the second attempt, which doubles from attempt to attempt; 2s if it says nothing"},
		{"max", "the longest wait; 60s if it says nothing"},
	}
}

// ScriptOptions returns the options that the comment of a script may set.
func ScriptOptions() []Key {
	return []Key{
		{"timeout", "the longest time for one run of the script, before `--timeout`"},
		{"idle_timeout", "the longest time without output; without it a script may be silent as long as it likes"},
		{"many_forks", "true allows several forks with the same next at once"},
	}
}

// Attributes returns the attributes of a tag, the required one first. A fork may
// have others: the variables of the new agent.
func Attributes(v Verb) []string { return append([]string{}, attributesOf[v]...) }

// PermissionModes returns the permission modes, from the one that allows least.
func PermissionModes() []string { return append([]string{}, permissionModes...) }

// Codes returns the codes of what lint finds.
func Codes() []Key {
	return []Key{
		{"ambiguous", "a name without extension fits several files of this system"},
		{"bad-tag", "a tag lacks an attribute, has one twice or one that it can't have, or is malformed"},
		{"bad-target", "a target is empty, or a path"},
		{"crlf", "a .sh has CRLF line endings, which bash can't read"},
		{"dead-end", "no tag and no policy leads on from a prompt"},
		{"duplicate-key", "a key stands twice"},
		{"empty", "a prompt has no text"},
		{"endless", "a loop has no way out"},
		{"entry", "there is no entry, or there are two"},
		{"forbidden", "the text shows a tag that the policy of the state forbids"},
		{"frontmatter", "a frontmatter is too big, or has no closing ---"},
		{"misplaced", "a policy is not at the very top of its file"},
		{"no-done-when", "a key has no effect without done_when"},
		{"no-return", "what is called can't reach a result"},
		{"no-state", "a state that is named does not exist"},
		{"no-tag", "no tag is in sight in a script"},
		{"not-built", "a key or an option doesn't work yet in this version"},
		{"not-regular", "what has the name of a state is no regular file"},
		{"not-utf8", "a file is not UTF-8"},
		{"nothing-allowed", "a policy allows no transition"},
		{"option", "the options comment of a script is wrong"},
		{"several-forks", "several forks are shown, and only one may be written at once"},
		{"short-max", "the max of backoff is shorter than its base"},
		{"syntax", "bash can't read a script"},
		{"tag-case", "what would be a tag is not in lower case"},
		{"unknown-key", "a key is none of ours; often it is misspelt"},
		{"unknown-name", "nothing supplies the name in a template"},
		{"unmentioned", "the policy allows what the text never mentions"},
		{"unreachable", "nothing leads to a state"},
		{"unreadable", "a file can't be read"},
		{"wrong-case", "a key differs from one of ours in upper and lower case"},
		{"wrong-platform", "a state can't run on this system"},
		{"wrong-type", "a value is of the wrong type"},
		{"wrong-value", "a value is none of those that are possible"},
		{"yaml", "a frontmatter is malformed YAML"},
		{"zip", "an archive is no workflow"},
	}
}
