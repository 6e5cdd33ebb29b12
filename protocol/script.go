package protocol

import (
	"slices"
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
	seen := map[string]Pos{}
	for number := 1; number <= head && text != ""; number++ {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if options, ok := optionsIn(line, ext); ok {
			s.Claims.Marked = true
			s.setOptions(options, Pos{Line: number}, seen)
		}
	}
	if s.Work && !s.Trusted {
		s.addNeed("work", "trusted", seen["work"])
	}
	if s.Workflows && !s.Work {
		s.addNeed("workflows", "work", seen["workflows"])
	}
}

// addNeed adds a problem for an option that is true and means nothing without another.
func (s *State) addNeed(name, other string, pos Pos) {
	s.addProblem(pos, "option", "%s=true has no meaning without %s=true", name, other).Hint = "write both, or neither"
}

// optionsIn returns what follows raymond: in a comment line.
func optionsIn(line, ext string) (string, bool) {
	comment, ok := commentIn(line, ext)
	if !ok {
		return "", false
	}
	return strings.CutPrefix(strings.TrimSpace(comment), "raymond:")
}

// commentIn returns the comment that a line of a script is nothing but: what follows #, or in a batch
// file :: or rem.
func commentIn(line, ext string) (string, bool) {
	line = strings.TrimSpace(line)
	if ext != ".bat" {
		return strings.CutPrefix(line, "#")
	}
	if comment, ok := strings.CutPrefix(line, "::"); ok {
		return comment, true
	}
	line = strings.TrimPrefix(line, "@")
	word, comment, ok := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
	return comment, ok && strings.EqualFold(word, "rem")
}

// scriptOptions are the names that an options comment may set.
var scriptOptions = []string{
	"timeout", "idle_timeout", "many_forks", "trusted", "work", "workflows", "targets", "ask", "cd", "job", "on_comment",
}

func (s *State) setOptions(options string, pos Pos, seen map[string]Pos) {
	for _, option := range strings.Fields(options) {
		name, value, ok := strings.Cut(option, "=")
		switch {
		case !ok:
			s.addProblem(pos, "option", "option %s is not written name=value", Quote(option))
		case seen[name].Line > 0:
			s.addProblem(pos, "option", "option %s appears twice", Quote(name))
		default:
			seen[name] = pos
			s.setOption(name, value, pos)
		}
	}
}

func (s *State) setOption(name, value string, pos Pos) {
	p := &s.Policy
	flags := map[string]*bool{
		"many_forks": &p.Transitions.ManyForks, "trusted": &s.Trusted, "work": &s.Work, "workflows": &s.Workflows, "cd": &p.Transitions.Dirs,
	}
	switch name {
	case "timeout":
		p.Timeout = s.durationOption(name, value, pos)
	case "idle_timeout":
		p.IdleTimeout = s.durationOption(name, value, pos)
	case "many_forks", "trusted", "work", "workflows", "cd":
		if *flags[name] = value == "true"; !isBoolean(value) {
			s.addProblem(pos, "option", "%s is %s, not true or false", name, Quote(value))
		}
	case "ask":
		p.Transitions.Asks = s.askOption(value, pos)
	case "targets":
		p.Transitions.Targets = s.targetsOption(value, pos)
	case "job":
		s.setJob(value, pos, "option")
	case partOnComment:
		s.OnComment = value
		s.refer(Reference{Part: name, Name: value, Pos: pos, Policy: true})
	case "cage":
		s.addProblem(pos, "option", "unknown option %s", Quote(name)).Hint = "scripts are confined unless they say trusted=true"
	default:
		s.addProblem(pos, "option", "unknown option %s", Quote(name)).Hint = DidYouMean(name, scriptOptions)
	}
}

// askOption reads which of the attributes that say who is asked, and where, a script may write.
func (s *State) askOption(value string, pos Pos) []string {
	names := listOf(value)
	for _, name := range names {
		if !slices.Contains(addressingAttributes, name) {
			s.addProblem(pos, "option", "ask names %s, not where, from or untrusted", Quote(name))
		}
	}
	return names
}

// targetsOption reads the states that the tags of a script may name.
func (s *State) targetsOption(value string, pos Pos) []string {
	targets := listOf(value)
	for _, name := range targets {
		s.refer(Reference{Part: "targets", Name: name, Pos: pos, Policy: true})
	}
	return targets
}

func (s *State) durationOption(name, value string, pos Pos) *time.Duration {
	d, ok := parseDuration(value)
	if !ok {
		s.addProblem(pos, "option", "%s is %s, not a duration above zero such as 90s, 10m or 1h30m", name, Quote(value))
		return nil
	}
	return &d
}

// parseDuration reads a Go duration that is longer than zero.
func parseDuration(s string) (time.Duration, bool) {
	d, err := time.ParseDuration(s)
	return d, err == nil && d > 0 && !strings.HasPrefix(s, "+")
}
