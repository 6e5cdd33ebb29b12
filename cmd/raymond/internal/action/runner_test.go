//go:build linux

package action_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"
)

// logCommand is a command that a runner carries out.
type logCommand struct {
	name       string
	properties map[string]string
	data       string
}

// obeyed are the commands that a runner knows.
var obeyed = []string{
	"set-env", "set-output", "save-state", "add-mask", "add-path", "add-matcher", "remove-matcher", "debug", "error",
	"warning", "notice", "group", "endgroup", "echo", "internal-set-repo-path", "stop-commands",
}

// carriedOut splits a log into what a runner obeys and what it shows. A lone CR
// ends a line, white space of any kind may come before a command, and the old
// form counts anywhere in a line.
func carriedOut(log string) (commands []logCommand, lines []string) {
	stopped := ""
	for line := range strings.SplitSeq(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(log), "\n") {
		c, ok := commandIn(line, stopped)
		switch {
		case !ok:
			lines = append(lines, line)
		case stopped != "" && c.name == stopped:
			stopped = ""
		case stopped != "":
			lines = append(lines, line)
		case c.name == "stop-commands":
			stopped = c.data
		default:
			commands = append(commands, c)
		}
	}
	return commands, lines
}

// commandIn finds a command in a line.
func commandIn(line, stopped string) (logCommand, bool) {
	known := func(name string) bool { return slices.Contains(obeyed, name) || stopped != "" && name == stopped }
	unescape := strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%")
	if rest, ok := strings.CutPrefix(strings.TrimLeftFunc(line, unicode.IsSpace), "::"); ok {
		head, data, ended := strings.Cut(rest, "::")
		name, list, _ := strings.Cut(head, " ")
		c := logCommand{strings.ToLower(name), map[string]string{}, unescape.Replace(data)}
		for pair := range strings.SplitSeq(list, ",") {
			key, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
			c.properties[key] = unescape.Replace(value)
		}
		if ended && known(c.name) {
			return c, true
		}
	}
	_, rest, ok := strings.Cut(line, "##[")
	head, data, ended := strings.Cut(rest, "]")
	name, _, _ := strings.Cut(head, " ")
	c := logCommand{strings.ToLower(name), map[string]string{}, data}
	return c, ok && ended && known(c.name)
}

// fileOutputs reads what was written to GITHUB_OUTPUT as a runner does.
func fileOutputs(t testing.TB, text string) map[string]string {
	t.Helper()
	values := map[string]string{}
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		name, end, isBlock := strings.Cut(line, "<<")
		key, value, isPair := strings.Cut(line, "=")
		switch {
		case isBlock && (!isPair || len(name) < len(key)):
			before, after, ok := strings.Cut("\n"+rest, "\n"+end+"\n")
			if !ok {
				t.Fatalf("GITHUB_OUTPUT: the value of %q has no end\n%q", name, text)
			}
			values[name], text = strings.TrimPrefix(before, "\n"), after
		case isPair:
			values[key], text = value, rest
		case line == "":
			text = rest
		default:
			t.Fatalf("GITHUB_OUTPUT: the runner refuses the line %q", line)
		}
	}
	return values
}
