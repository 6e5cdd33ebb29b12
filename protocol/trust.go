package protocol

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// barred says what keeps a state from writing a tag that its policy allows: the options of a
// script, and that a script which is trusted is reached only where the workflow names it. states
// are those that the tag names, resolved, by part.
func (w *Workflow) barred(m matcher, s *State, t Tag, states map[string]string) []Problem {
	var problems []Problem
	add := func(code, hint, format string, args ...any) {
		problems = append(problems, Problem{Pos: t.Pos, Code: code, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	p := &s.Policy.Transitions
	for _, part := range slices.Sorted(maps.Keys(states)) {
		name := states[part]
		where := fmt.Sprintf("%s of <%s>: %s", part, t.Verb, Quote(name))
		isListed := slices.ContainsFunc(p.Targets, func(target string) bool { return m.same(target, name) })
		switch isTrusted := w.states[name].Trusted; {
		case s.Kind == Script && p.Targets != nil && !isListed:
			add("forbidden", "write # raymond: targets="+strings.Join(append(slices.Clone(p.Targets), name), ","), "%s is not among the targets of this script", where)
		case s.Kind == Script && p.Targets == nil && isTrusted:
			add("trusted", "write # raymond: targets="+name+", with all other states that the script leads to",
				"%s is trusted, and this script doesn't name it", where)
		case s.Kind == Prompt && isTrusted && !m.vouches(p, part, t):
			add("trusted", fmt.Sprintf("that takes an entry of allowed_transitions such as {tag: %s, %s: %s}", t.Verb, part, name),
				"%s is trusted, and the policy of this state doesn't name it", where)
		}
	}
	if option := p.lacking(t); s.Kind == Script && !s.Trusted && option != "" {
		add("forbidden", "write # raymond: "+option, "<%s>: an untrusted script needs a line that allows this attribute, because its output counts as an agent's output", t.Verb)
	}
	return problems
}

// lacking returns the option without which a script that is not trusted can't write a tag, "" for
// none: agents, whose code it runs, don't decide who is asked, and where others work.
func (p *Transitions) lacking(t Tag) string {
	if _, ok := t.Attrs["cd"]; ok && !p.Dirs {
		return "cd=true"
	}
	said := t.addressing()
	if !slices.ContainsFunc(said, func(name string) bool { return !slices.Contains(p.Asks, name) }) {
		return ""
	}
	return "ask=" + strings.Join(slices.DeleteFunc(slices.Clone(addressingAttributes), func(name string) bool {
		return !slices.Contains(said, name) && !slices.Contains(p.Asks, name)
	}), ",")
}

// ShadowedMeta says which variable of a fork would hide a name of the run's metadata, or "".
func ShadowedMeta(vars map[string]string, meta []string) string {
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if slices.ContainsFunc(meta, func(m string) bool { return VariableName(m) == VariableName(name) }) {
			return fmt.Sprintf("the attribute %s is a name of the run's metadata, which no fork changes", Quote(name))
		}
	}
	return ""
}
