package sitetest

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// RunnerCommand is a workflow command that the runner has executed.
type RunnerCommand struct {
	Name       string
	Properties map[string]string
	Data       string
}

// knownCommands are the workflow commands that GitHub's runner knows.
var knownCommands = []string{
	"set-env", "set-output", "save-state", "add-mask", "add-path", "add-matcher", "remove-matcher", "debug", "error",
	"warning", "notice", "group", "endgroup", "echo", "internal-set-repo-path", "stop-commands",
}

// Runner parses the output of a step like GitHub's runner. It is a port of the runner's source code. If
// Ignorable is true, it ignores characters without weight, as .NET's text comparison does in most cultures.
type Runner struct {
	Ignorable bool
	Token     string // the token that resumes commands after stop-commands; empty while commands are executed
	Ran       []RunnerCommand
	Shown     []string // lines without workflow commands
}

// Read processes a piece of the output, which must consist of whole lines.
func (h *Runner) Read(output string) {
	for _, line := range ReaderLines(output) {
		if h.Ignorable {
			line = strings.Map(func(r rune) rune {
				if text.IsInvisible(r) || unicode.IsControl(r) && !unicode.IsSpace(r) {
					return -1
				}
				return r
			}, line)
		}
		h.line(line)
	}
}

// ReaderLines splits text as .NET's StreamReader.ReadLine does: at LF, CR and CRLF.
func ReaderLines(output string) []string {
	output = strings.ReplaceAll(output, "\r\n", "\n")
	output = strings.TrimSuffix(strings.ReplaceAll(output, "\r", "\n"), "\n")
	return strings.Split(output, "\n")
}

func (h *Runner) line(line string) {
	command, ok := h.parseV2(line)
	if !ok {
		command, ok = h.parseV1(line)
	}
	switch {
	case !ok:
		h.Shown = append(h.Shown, line)
	case h.Token != "" && strings.EqualFold(command.Name, h.Token):
		h.Token = ""
	case h.Token != "":
		h.Shown = append(h.Shown, line)
	case strings.EqualFold(command.Name, "stop-commands"):
		h.Token = command.Data
	default:
		h.Ran = append(h.Ran, command)
	}
}

func (h *Runner) knows(name string) bool {
	if h.Token != "" && strings.EqualFold(name, h.Token) {
		return true
	}
	for _, r := range knownCommands {
		if strings.EqualFold(name, r) {
			return true
		}
	}
	return false
}

// parseV2 parses ::name key=value,key=value::data after any white space.
func (h *Runner) parseV2(line string) (RunnerCommand, bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeftFunc(line, unicode.IsSpace), "::")
	info, data, ended := strings.Cut(rest, "::")
	if first, _ := utf8.DecodeRuneInString(data); IsCombining(first) {
		return RunnerCommand{}, false // .NET's culture-sensitive search doesn't find the colons before such a character
	}
	name, list, _ := strings.Cut(info, " ")
	if !ok || !ended || !h.knows(name) {
		return RunnerCommand{}, false
	}
	unescapeData := strings.NewReplacer("%0D", "\r", "%0A", "\n", "%25", "%")
	unescape := strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%")
	return RunnerCommand{name, pairs(strings.TrimSpace(list), ",", unescape), unescapeData.Replace(data)}, true
}

// IsCombining reports whether .NET treats a character as a part of the one before it. Tests with runner
// 2.336 have shown that for combining marks, skin tones, half-width voiced sound marks, and two vowels.
func IsCombining(r rune) bool {
	return unicode.Is(unicode.M, r) || r >= 0x1F3FB && r <= 0x1F3FF || r == 0xFF9E || r == 0xFF9F || r == 0x0E33 || r == 0x0EB3
}

// parseV1 parses ##[name key=value;key=value]data anywhere in a line.
func (h *Runner) parseV1(line string) (RunnerCommand, bool) {
	_, rest, ok := strings.Cut(line, "##[")
	info, data, ended := strings.Cut(rest, "]")
	name, list, _ := strings.Cut(info, " ")
	if !ok || !ended || !h.knows(name) {
		return RunnerCommand{}, false
	}
	unescape := strings.NewReplacer("%3B", ";", "%0D", "\r", "%0A", "\n", "%5D", "]", "%25", "%")
	return RunnerCommand{name, pairs(list, ";", unescape), unescape.Replace(data)}, true
}

// pairs splits a list of properties. Empty elements are skipped, and so are properties without a value.
func pairs(list, separator string, unescape *strings.Replacer) map[string]string {
	found := map[string]string{}
	for _, part := range strings.Split(list, separator) {
		key, value, _ := strings.Cut(strings.TrimLeft(part, "="), "=")
		if value = strings.TrimLeft(value, "="); key != "" && value != "" {
			found[key] = unescape.Replace(value)
		}
	}
	return found
}

// ReadOutputs parses a file of outputs as the runner does.
func ReadOutputs(t testing.TB, text string) map[string]string {
	t.Helper()
	outputs := map[string]string{}
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := 0; i < len(all) && text != ""; i++ {
		equals, here := strings.Index(all[i], "="), strings.Index(all[i], "<<")
		if equals >= 0 && (here < 0 || equals < here) {
			outputs[all[i][:equals]] = all[i][equals+1:]
			continue
		}
		name, end, ok := strings.Cut(all[i], "<<")
		if !ok {
			t.Fatalf("line %q is no output; file:\n%s", all[i], text)
		}
		var value []string
		for i++; i < len(all) && all[i] != end; i++ {
			value = append(value, all[i])
		}
		if i == len(all) {
			t.Fatalf("output %s has no end; file:\n%s", name, text)
		}
		outputs[name] = strings.Join(value, "\n")
	}
	return outputs
}

// Hostile is text in which a runner, a library or a terminal could see commands, delimiters or
// escape sequences.
var Hostile = strings.Join([]string{
	"::error::injected", "::set-output name=result::injected", "::set-output name=evil::injected", "::add-mask::e", "::add-mask::a",
	"::stop-commands::e", "\r::error::injected", "x\r::warning::injected", "\u2003::notice::injected", "\u00a0 ::error::injected",
	"##[error]injected", "text ##[set-output name=evil;]injected", "\x00::error::injected", "\x1b[2J\x1b]0;title\x07::error::injected",
	"\u200b::error::injected", "::save-state name=x::injected", "::group::injected", "::add-path::/injected", "%0A::error::injected",
	// Delimiters of go-githubactions and of other tools.
	"_GitHubActionsFileCommandDelimeter_", "evil=injected", "evil<<EOF", "injected", "EOF", "ghadelimiter_0", "end_0",
	"```", "<!-- injected --><script>injected</script>", "| a | b |", "</details>", "\xff\xfe\xc3\x28 no UTF-8", "\u202einjected",
}, "\n")
