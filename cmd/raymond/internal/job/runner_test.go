package job

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// What the runner of GitHub and act make of a step's output, as their sources
// have it: the judge of what Commands writes.

// ran is a command that a runner has carried out.
type ran struct {
	name       string
	properties map[string]string
	data       string
}

// registered are the commands that GitHub's runner knows.
var registered = []string{
	"set-env", "set-output", "save-state", "add-mask", "add-path", "add-matcher", "remove-matcher", "debug", "error",
	"warning", "notice", "group", "endgroup", "echo", "internal-set-repo-path", "stop-commands",
}

// hosted plays GitHub's runner. With ignorable set, it compares as .NET does in
// most languages: characters without weight don't count.
type hosted struct {
	ignorable bool
	token     string // that ends stop-commands; "" while commands are obeyed
	ran       []ran
	shown     []string // lines that are no commands
}

func (h *hosted) read(output string) {
	for _, line := range readerLines(output) {
		if h.ignorable {
			line = strings.Map(func(r rune) rune {
				if text.Invisible(r) || unicode.IsControl(r) && !unicode.IsSpace(r) {
					return -1
				}
				return r
			}, line)
		}
		h.line(line)
	}
}

// readerLines are lines as StreamReader.ReadLine finds them: LF, CR and CRLF.
func readerLines(output string) []string {
	output = strings.ReplaceAll(output, "\r\n", "\n")
	output = strings.TrimSuffix(strings.ReplaceAll(output, "\r", "\n"), "\n")
	return strings.Split(output, "\n")
}

func (h *hosted) line(line string) {
	command, ok := h.parseV2(line)
	if !ok {
		command, ok = h.parseV1(line)
	}
	switch {
	case !ok:
		h.shown = append(h.shown, line)
	case h.token != "" && strings.EqualFold(command.name, h.token):
		h.token = ""
	case h.token != "":
		h.shown = append(h.shown, line)
	case strings.EqualFold(command.name, "stop-commands"):
		h.token = command.data
	default:
		h.ran = append(h.ran, command)
	}
}

func (h *hosted) knows(name string) bool {
	if h.token != "" && strings.EqualFold(name, h.token) {
		return true
	}
	for _, r := range registered {
		if strings.EqualFold(name, r) {
			return true
		}
	}
	return false
}

// parseV2 reads ::name key=value,key=value::data, after any white space.
func (h *hosted) parseV2(line string) (ran, bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeftFunc(line, unicode.IsSpace), "::")
	info, data, ended := strings.Cut(rest, "::")
	if first, _ := utf8.DecodeRuneInString(data); leans(first) {
		return ran{}, false // it searches by the rules of a language
	}
	name, list, _ := strings.Cut(info, " ")
	if !ok || !ended || !h.knows(name) {
		return ran{}, false
	}
	unescapeData := strings.NewReplacer("%0D", "\r", "%0A", "\n", "%25", "%")
	unescape := strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%")
	return ran{name, pairs(strings.TrimSpace(list), ",", unescape), unescapeData.Replace(data)}, true
}

// leans reports whether .NET takes a character for a part of the one before it.
// Measured on runner 2.336: marks, skin tones, half-width voiced marks, and two
// vowels.
func leans(r rune) bool {
	return unicode.Is(unicode.M, r) || r >= 0x1F3FB && r <= 0x1F3FF || r == 0xFF9E || r == 0xFF9F || r == 0x0E33 || r == 0x0EB3
}

// parseV1 reads ##[name key=value;key=value]data, anywhere in a line.
func (h *hosted) parseV1(line string) (ran, bool) {
	_, rest, ok := strings.Cut(line, "##[")
	info, data, ended := strings.Cut(rest, "]")
	name, list, _ := strings.Cut(info, " ")
	if !ok || !ended || !h.knows(name) {
		return ran{}, false
	}
	unescape := strings.NewReplacer("%3B", ";", "%0D", "\r", "%0A", "\n", "%5D", "]", "%25", "%")
	return ran{name, pairs(list, ";", unescape), unescape.Replace(data)}, true
}

// pairs splits properties; empty parts don't count, not even before a value.
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

var (
	actNew = regexp.MustCompile("^::([^ ]+)( (.+))?::([^\r\n]*)[\r\n]+$")
	actOld = regexp.MustCompile("^##\\[([^ ]+)( (.+))?]([^\r\n]*)[\r\n]+$")
)

// actNames are the names of the commands that act finds in an output, those
// between stop-commands and its token left out.
func actNames(output string) []string {
	var names []string
	token := ""
	for line := range strings.Lines(output) {
		m := actNew.FindStringSubmatch(line)
		if m == nil {
			m = actOld.FindStringSubmatch(line)
		}
		switch {
		case m == nil:
		case token != "" && m[1] == token:
			token = ""
		case token != "":
			names = append(names, "ignored: "+m[1])
		case m[1] == "stop-commands":
			token = m[4]
		default:
			names = append(names, m[1])
		}
	}
	return names
}
