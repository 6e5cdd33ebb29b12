package protocol

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// trustProblems returns why a state may not write a tag although its policy allows the tag. The
// options of a script limit which tags it may write. A trusted script can be reached only from a
// state whose file names it. states maps each role in the tag to the file of the state.
func (w *Workflow) trustProblems(m matcher, s *State, t Tag, states map[string]string) []Problem {
	var problems []Problem
	add := func(code, hint, format string, args ...any) {
		problems = append(problems, Problem{Pos: t.Pos, Code: code, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	p := &s.Policy.Transitions
	for _, role := range slices.Sorted(maps.Keys(states)) {
		name := states[role]
		where := fmt.Sprintf("%s of <%s>: %s", role, t.Verb, Quote(name))
		isListed := slices.ContainsFunc(p.Targets, func(target string) bool { return m.same(target, name) })
		namesRole := func(r Rule) bool { return r.States[role] != "" && m.fits(r, t) }
		switch isTrusted := w.states[name].Trusted; {
		case s.Kind == Script && p.Targets != nil && !isListed:
			add("forbidden", "write # raymond: targets="+strings.Join(append(slices.Clone(p.Targets), name), ","), "%s is not among the targets of this script", where)
		case s.Kind == Script && p.Targets == nil && isTrusted:
			add("trusted", "write # raymond: targets="+name+", with all other states that the script leads to",
				"%s is trusted, but this script doesn't name it", where)
		case s.Kind == Prompt && isTrusted && p.Targets == nil && !slices.ContainsFunc(p.Allowed, namesRole):
			add("trusted", fmt.Sprintf("allow it with an entry of allowed_transitions such as {tag: %s, %s: %s}", t.Verb, role, name),
				"%s is trusted, but the policy of this state doesn't name it", where)
		}
	}
	if option, forbidden := p.missingOption(t); s.Kind == Script && !s.Trusted && option != "" {
		add("forbidden", "allow it with # raymond: "+option, "<%s>: a script that isn't trusted may not %s", t.Verb, forbidden)
	}
	return problems
}

// missingOption returns the option that an untrusted script needs to write a tag, and what the script
// may not do without the option. Both are empty if the tag needs no option. Untrusted scripts run
// code that agents wrote, and this code must not choose who is asked or in which directories agents
// work.
func (p *Transitions) missingOption(t Tag) (option, forbidden string) {
	if _, ok := t.Attrs["cd"]; ok && !p.Dirs {
		return "cd=true, in a <reset> or a <fork>", "change the directory"
	}
	used := t.addressing()
	if !slices.ContainsFunc(used, func(name string) bool { return !slices.Contains(p.Asks, name) }) {
		return "", ""
	}
	return "ask=" + strings.Join(slices.DeleteFunc(slices.Clone(addressingAttributes), func(name string) bool {
		return !slices.Contains(used, name) && !slices.Contains(p.Asks, name)
	}), ","), "say who is asked, or where"
}

// ShadowedMeta returns a message if a variable of a fork would hide a name in the run's metadata,
// because both have the same name. Otherwise it returns "".
func ShadowedMeta(vars map[string]string, meta []string) string {
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if slices.ContainsFunc(meta, func(m string) bool { return VariableName(m) == VariableName(name) }) {
			return fmt.Sprintf("the attribute %s is a name of the run's metadata, which a fork can't change", Quote(name))
		}
	}
	return ""
}
