package report

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// toolName is what the name of a tool looks like.
var toolName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// toolUse takes apart a use of a tool as a backend tells it: its name, and in
// parentheses the input that says most, cut short.
func toolUse(text string) (tool, input string, ok bool) {
	tool, input, _ = strings.Cut(text, "(")
	input, ok = strings.CutSuffix(input, ")")
	return tool, input, ok && len(tool) <= widestName && toolName.MatchString(tool)
}

// allowRules returns the narrowest rules, in the words of the agent CLI, that
// would have let a refused use of a tool pass; none for what is no tool use. Of
// a command line the rules are for the programs that are sure to be started.
func allowRules(refused string) []string {
	tool, input, ok := toolUse(refused)
	switch {
	case !ok:
		return nil
	case tool == "Bash":
		return commandRules(input)
	case tool == "WebFetch":
		if u, err := url.Parse(input); err == nil && hostForm.MatchString(u.Hostname()) {
			return []string{"WebFetch(domain:" + u.Hostname() + ")"}
		}
	case slices.Contains(editors, tool):
		// Rules for Edit hold for every tool that changes files.
		return []string{"Edit" + pathOf(input)}
	case tool == "Read":
		return []string{"Read" + pathOf(input)}
	}
	return []string{tool}
}

var (
	editors   = []string{"Edit", "MultiEdit", "Write", "NotebookEdit"}
	hostForm  = regexp.MustCompile(`^[A-Za-z0-9.-]+$`)
	plainPath = regexp.MustCompile(`^/[A-Za-z0-9._/+@-]+$`)
)

// pathOf is the part of a rule that names one file; two slashes stand for the
// root of the file system. Without it the rule is for all files.
func pathOf(path string) string {
	if !plainPath.MatchString(path) {
		return ""
	}
	return "(/" + path + ")"
}

var (
	// separators stand between commands, each of which needs a rule of its own.
	separators = regexp.MustCompile(`&&|\|\||[;|&]`)
	subcommand = regexp.MustCompile(`^[a-z][a-z-]*$`)
	program    = regexp.MustCompile(`^[A-Za-z0-9._/+-]+$`)
)

// unclear are the characters from which on a command line can't be taken apart
// without a shell.
const unclear = "\"'`$<>(){}\\*?#…,"

// commandRules returns a rule for each command of a line, as far as it is clear.
func commandRules(line string) []string {
	sure, rest := line, ""
	if i := strings.IndexAny(line, unclear); i >= 0 {
		sure, rest = line[:i], line[i:]
	}
	commands := separators.Split(sure, -1)
	var rules []string
	for i, command := range commands {
		whole := rest == "" || i < len(commands)-1
		if rule := commandRule(command, whole); rule != "" && !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	return rules
}

// commandRule is for all commands that begin with the same program and its
// subcommand; without one, for those that begin with the same words, and only
// for this one when all of it is known.
func commandRule(command string, whole bool) string {
	words := strings.Fields(command)
	if !whole && len(words) > 0 && !strings.HasSuffix(command, " ") {
		words = words[:len(words)-1] // it may go on in what is unclear
	}
	switch {
	case len(words) == 0 || !program.MatchString(words[0]):
		return ""
	case len(words) > 1 && subcommand.MatchString(words[1]):
		return "Bash(" + words[0] + " " + words[1] + ":*)"
	case whole:
		return "Bash(" + strings.Join(words, " ") + ")"
	}
	return "Bash(" + strings.Join(words, " ") + ":*)"
}
