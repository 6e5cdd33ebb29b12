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
		{"agent", "the agent CLI that begins a conversation in this state: claude, codex, gemini or command; it overrides `--agent`, and the `agent` of a `<function>` overrides it"},
		{"model", "the model for this state; it overrides `--model`, and the `model` of a `<function>` overrides it"},
		{"effort", "the effort for this state; it overrides `--effort`"},
		{"timeout", "the longest time for one invocation, as in 90s or 1h30m; it overrides `--timeout`"},
		{"idle_timeout", "the longest time without output; it overrides `--idle-timeout`"},
		{"permission_mode", "what the agent may do without asking; never more than the run's"},
		{"allowed_tools", "a list of tools the agent may use without asking; with `--allowed-tools` only those of them that the run allows"},
		{"disallowed_tools", "a list of tools the agent may not use, in addition to those of the run"},
		{"done_when", "a command, or a list of 1 to 64, that must all exit with 0 before the state is done"},
		{"max_attempts", "how many attempts a state with done_when has: 1 to 100, 6 by default"},
		{"max_ralph_iters", "another name for max_attempts"},
		{"backoff", "the wait between attempts: a map of base and max, or none"},
		{"attempt_context", "the conversation that an attempt begins with: entry (by default), a branch of the one with which the state was entered; fresh, a new one; continue, that of the attempt before"},
		{"done_when_timeout", "the longest time for each command of done_when; 10m by default"},
		{"on_exhausted", "what follows the last attempt: fail (by default), suspend, or a state"},
		{"protect", "a list of patterns of files that must not change while the state runs"},
		{"result_schema", "a JSON Schema (draft 2020-12), or the name of a .json file of the workflow that holds one: the result of this state must be JSON that it allows"},
		{"input_schema", "the same for the payload with which this state starts"},
		{"job", "the job that runs this state; main by default"},
		{"on_comment", "in the first state: the state with which a comment goes on after a completed run"},
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
		{"base", "the wait before the second attempt, which doubles from attempt to attempt; 2s by default"},
		{"max", "the longest wait; 60s by default"},
	}
}

// ScriptOptions returns the options that the comment of a script may set.
func ScriptOptions() []Key {
	return []Key{
		{"timeout", "the longest time for one run of the script; it overrides `--timeout`"},
		{"idle_timeout", "the longest time without output; no limit by default"},
		{"many_forks", "true allows several forks with the same next at once"},
		{"cage", "true confines the script as agents are confined; it is for scripts that run what agents wrote"},
		{"job", "the job that runs this script; main by default"},
		{"on_comment", "in the first state: the state with which a comment goes on after a completed run"},
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
		{"agent", "a conversation would come to a state that another agent CLI runs, or can't be branched"},
		{"ambiguous", "a name without extension fits several files of this system"},
		{"ask-next", "the policy allows a question, but doesn't say which state gets the answer"},
		{"bad-tag", "a tag is malformed, or lacks an attribute, has one twice, or has one, or a value, that it can't have"},
		{"bad-target", "a target is empty, or a path"},
		{"command-session", "a conversation is continued with agent command, whose program may not be able to"},
		{"crlf", "a .sh has CRLF line endings, which bash can't read"},
		{"dead-end", "neither a tag nor a policy leads from a prompt to another state"},
		{"duplicate-key", "a key occurs twice"},
		{"empty", "a prompt has no text"},
		{"endless", "a loop has no way out"},
		{"entry", "there is no first state, or there are two"},
		{"forbidden", "the text shows a tag that the policy of the state forbids"},
		{"frontmatter", "a frontmatter is too big, or has no closing ---"},
		{"misplaced", "a policy is not at the very top of its file"},
		{"no-done-when", "a key has no effect without done_when"},
		{"no-return", "a called state can't reach a result"},
		{"no-state", "a state that is named does not exist"},
		{"no-tag", "a script contains no tag"},
		{"not-regular", "a file with the name of a state is not a regular file"},
		{"not-utf8", "a file is not UTF-8"},
		{"nothing-allowed", "a policy allows no transition"},
		{"on-comment", "a state that is not the first one has on_comment"},
		{"option", "the options comment of a script is wrong"},
		{"several-forks", "several forks are shown, but a message may have only one"},
		{"payload", "an input or a result does not fit the schema of a state"},
		{"schema", "a JSON Schema can't be used"},
		{"short-max", "the max of backoff is shorter than its base"},
		{"syntax", "bash can't read a script"},
		{"tag-case", "a tag is not in lower case"},
		{"unknown-key", "a key is unknown, and often misspelt"},
		{"unknown-name", "nothing supplies the name in a template"},
		{"unmentioned", "the policy allows what the text never mentions"},
		{"unreachable", "nothing leads to a state"},
		{"unreadable", "a file can't be read"},
		{"wrong-case", "a key differs from one of ours in upper and lower case"},
		{"wrong-platform", "a state can't run on this system"},
		{"wrong-type", "a value is of the wrong type"},
		{"wrong-value", "a value is not one of the possible ones"},
		{"yaml", "a frontmatter is malformed YAML"},
		{"zip", "an archive is no workflow"},
	}
}
