package protocol

import (
	"strings"
	"time"
)

// parseScript reads the options comments among the first ten lines of a script.
func (s *State) parseScript(text string) {
	_, ext := splitName(s.Name)
	if at := strings.Index(text, "\r\n"); ext == ".sh" && at >= 0 {
		line := 1 + strings.Count(text[:at], "\n")
		s.addProblem(Pos{Line: line}, "crlf", "CRLF line endings").Hint = "convert to LF"
	}
	const head = 10
	seen := map[string]bool{}
	for number := 1; number <= head && text != ""; number++ {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if options, ok := optionsIn(line, ext); ok {
			s.Claims.Marked = true
			s.setOptions(options, Pos{Line: number}, seen)
		}
	}
}

// optionsIn returns what follows raymond: in a comment line.
func optionsIn(line, ext string) (string, bool) {
	line = strings.TrimSpace(line)
	comment, ok := strings.CutPrefix(line, "#")
	if ext == ".bat" {
		comment, ok = batComment(line)
	}
	if !ok {
		return "", false
	}
	return strings.CutPrefix(strings.TrimSpace(comment), "raymond:")
}

// batComment returns what follows :: or rem in a line of a batch file.
func batComment(line string) (string, bool) {
	if comment, ok := strings.CutPrefix(line, "::"); ok {
		return comment, true
	}
	line = strings.TrimPrefix(line, "@")
	word, comment, ok := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
	return comment, ok && strings.EqualFold(word, "rem")
}

// scriptOptions are the names that an options comment may set.
var scriptOptions = []string{"timeout", "idle_timeout", "many_forks", "cage", "job", "on_comment"}

func (s *State) setOptions(options string, pos Pos, seen map[string]bool) {
	for _, option := range strings.Fields(options) {
		name, value, ok := strings.Cut(option, "=")
		switch {
		case !ok:
			s.addProblem(pos, "option", "option %s is not written name=value", quote(option))
		case seen[name]:
			s.addProblem(pos, "option", "option %s appears twice", quote(name))
		default:
			seen[name] = true
			s.setOption(name, value, pos)
		}
	}
}

func (s *State) setOption(name, value string, pos Pos) {
	switch name {
	case "timeout":
		s.Policy.Timeout = s.durationOption(name, value, pos)
	case "idle_timeout":
		s.Policy.IdleTimeout = s.durationOption(name, value, pos)
	case "many_forks":
		s.Policy.Transitions.ManyForks = s.boolOption(name, value, pos)
	case "cage":
		s.Caged = s.boolOption(name, value, pos)
	case "job":
		s.setJob(value, pos, "option")
	case partOnComment:
		s.OnComment = value
		s.refer(Reference{Part: name, Name: value, Pos: pos, Policy: true})
	default:
		s.addProblem(pos, "option", "unknown option %s", quote(name)).Hint = didYouMean(name, scriptOptions)
	}
}

func (s *State) boolOption(name, value string, pos Pos) bool {
	if !isBoolean(value) {
		s.addProblem(pos, "option", "%s is %s, not true or false", name, quote(value))
	}
	return value == "true"
}

func (s *State) durationOption(name, value string, pos Pos) *time.Duration {
	d, ok := parseDuration(value)
	if !ok {
		s.addProblem(pos, "option", "%s is %s, not a duration above zero such as 90s, 10m or 1h30m", name, quote(value))
		return nil
	}
	return &d
}

// parseDuration reads a Go duration that is longer than zero.
func parseDuration(s string) (time.Duration, bool) {
	d, err := time.ParseDuration(s)
	return d, err == nil && d > 0 && !strings.HasPrefix(s, "+")
}
