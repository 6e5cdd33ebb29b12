package protocol

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Target is a state that a transition names. The zero Target means that the transition names no
// state.
type Target struct {
	Name  string // as written in the tag or the policy; "" if the policy allows any state
	State string // the state's file; "" if Open is true or no such file exists
	Open  bool   // the name is known only when the state runs, for example a variable or a placeholder
}

// Exit is one transition that a state can end with. There are Exits only for transitions that the
// state's file shows.
type Exit struct {
	Verb   Verb   // "" if the policy allows several verbs or OnExhausted is set
	Target Target // zero for a result; for an ask, the state in next or timeout_next
	Next   Target // the attribute return of a call or function, or next of a fork; else zero
	Pos    Pos    // in the state's file; zero if the exit is from allowed_tags or allowed_targets
	// Delay is how long the agent waits before the target starts, as written in the attribute after
	// of a goto or reset, or in the attribute timeout of an ask. It is empty if the attribute is
	// missing.
	Delay string
	// Backend is the agent CLI in the attribute agent of a function, as written.
	Backend string
	// Model is the model in the attribute model of a function, as written.
	Model string
	// TimedOut marks the exit that an ask takes when its timeout passes without an answer.
	TimedOut bool
	// OnExhausted marks the exit that the state takes when all attempts of its done_when have
	// failed.
	OnExhausted bool
}

// Analysis contains the tags in a state's file, and the transitions that the state can end with.
type Analysis struct {
	State *State
	Lines []string    // the lines of the state's text
	Tags  []ParsedTag // all tags in the text, except in comments of a script; positions are in the file

	w             *Workflow
	shown         []ParsedTag // the tags that the policy allows
	exits         []Exit
	hasTransition bool // true if the policy or the text contains a real transition, not only examples
}

// analyze finds the tags and the exits of a state.
func (w *Workflow) analyze(s *State) *Analysis {
	d := &Analysis{w: w, State: s, Lines: strings.Split(s.Body, "\n"), Tags: s.tags}
	d.hasTransition = s.Policy.Transitions.Restricted || slices.ContainsFunc(d.Tags, func(t ParsedTag) bool {
		return t.Verb == Result || IsOpen(t.Body) || w.catalog.find(t.Body) != ""
	})
	d.shown = slices.DeleteFunc(slices.Clone(d.Tags), func(t ParsedTag) bool { return !d.Permits(t.Tag) })
	for _, t := range d.shown {
		d.exits = append(d.exits, d.exitsOf(t.Tag, d.Target)...)
	}
	p := &d.State.Policy.Transitions
	for _, r := range p.Allowed {
		covered := slices.ContainsFunc(d.shown, func(t ParsedTag) bool { return d.matcher().fits(r, t.Tag) })
		if !covered {
			d.exits = append(d.exits, d.exitsOfRule(r)...)
		}
	}
	if p.Restricted && p.isShort() {
		d.exits = append(d.exits, d.shortExits()...)
	}
	if len(d.exits) == 0 && d.State.Kind == Prompt && !d.State.Policy.Transitions.Restricted && strings.Contains(d.State.Body, "<result>") {
		d.exits = append(d.exits, Exit{Verb: Result}) // for example, the prompt says "answer in <result> tags"
	}
	for _, r := range d.State.References {
		if r.Role == "on_exhausted" {
			d.exits = append(d.exits, Exit{Target: d.Target(r.Name), Pos: r.Pos, OnExhausted: true})
		}
	}
	return d
}

// Source returns a tag as the file contains it, including its opening and its closing.
func (d *Analysis) Source(t ParsedTag) string { return d.State.Body[t.start:t.end] }

// IsComment reports whether the state is a script and the line consists of a comment only.
func (d *Analysis) IsComment(line string) bool { return d.State.isComment(line) }

// TrustProblems returns why Decide would reject a tag in the text although the policy allows it:
// because the script lacks an option, or because the workflow's author did not name a trusted
// target.
func (d *Analysis) TrustProblems(t Tag) []Problem {
	states := map[string]string{}
	for _, ref := range t.StateRefs() {
		if name := d.Target(ref.State).State; name != "" {
			states[ref.Role] = name
		}
	}
	return d.w.trustProblems(d.matcher(), d.State, t, states)
}

// exitsOf returns the exits that a tag describes: two for an ask with a timeout, otherwise one.
// goal resolves the state names in the tag.
func (d *Analysis) exitsOf(t Tag, goal func(name string) Target) []Exit {
	e := Exit{Verb: t.Verb, Pos: t.Pos}
	attr := func(name string) string { return strings.TrimSpace(t.Attrs[name]) }
	switch t.Verb {
	case Result:
		return []Exit{e}
	case Ask:
		e.Target = d.choice(t.Attrs[roleNext])
		late, ok := t.Attrs[roleTimeoutNext]
		if !ok && t.Attrs["timeout"] == "" {
			return []Exit{e}
		}
		return []Exit{e, {Verb: Ask, Target: d.choice(late), Pos: t.Pos, Delay: attr("timeout"), TimedOut: true}}
	case Function:
		e.Backend, e.Model = attr("agent"), attr("model")
	case Goto, Reset:
		e.Delay = attr("after")
	}
	e.Target = goal(t.Body)
	if required, ok := t.Attrs[requiredOf[t.Verb]]; ok {
		e.Next = goal(required)
	}
	return []Exit{e}
}

// exitsOfRule returns the exits that an entry of allowed_transitions allows. It returns nil if
// allowed_tags excludes the entry's verb.
func (d *Analysis) exitsOfRule(r Rule) []Exit {
	possible := slices.DeleteFunc(r.verbs(), func(v Verb) bool {
		return d.State.Policy.Transitions.Tags != nil && !slices.Contains(d.State.Policy.Transitions.Tags, v)
	})
	switch {
	case len(possible) == 0:
		return nil
	case len(possible) == 1:
		t := r.tagFor(possible[0])
		t.Pos = r.Pos
		return d.exitsOf(t, d.choice)
	}
	e := Exit{Target: d.choice(r.States[roleTarget]), Pos: r.Pos}
	if after := cmp.Or(r.States[roleReturn], r.States[roleNext]); after != "" {
		e.Next = d.choice(after)
	}
	return []Exit{e}
}

// choice resolves a state name in a policy. An empty name means that any state is allowed, so the
// Target is open.
func (d *Analysis) choice(name string) Target {
	if name == "" {
		return Target{Open: true}
	}
	return d.Target(name)
}

// shortExits returns the exits that the short form of a policy (allowed_tags, allowed_targets)
// allows in addition to the tags in the text. They are a result, and one exit to each state in
// allowed_targets that no tag names. If allowed_targets is missing and the text shows no transition
// other than a result, shortExits adds one exit with an open target instead.
func (d *Analysis) shortExits() []Exit {
	p := &d.State.Policy.Transitions
	allowed := p.Tags
	if allowed == nil {
		allowed = slices.DeleteFunc(slices.Clone(verbs), Verb.MustBeNamed)
	}
	isShown := func(result bool) bool {
		return slices.ContainsFunc(d.shown, func(t ParsedTag) bool { return (t.Verb == Result) == result })
	}
	var exits []Exit
	if slices.Contains(allowed, Result) && !isShown(true) {
		exits = append(exits, Exit{Verb: Result})
	}
	moves := slices.DeleteFunc(slices.Clone(allowed), func(v Verb) bool { return v == Result })
	var goals []Target
	switch {
	case len(moves) == 0:
	case p.Targets != nil:
		for _, target := range p.Targets {
			isTarget := func(ref StateRef) bool { return d.w.catalog.same(target, ref.State) }
			if !slices.ContainsFunc(d.shown, func(t ParsedTag) bool { return slices.ContainsFunc(t.StateRefs(), isTarget) }) {
				goals = append(goals, d.Target(target))
			}
		}
	case !isShown(false):
		goals = []Target{{Open: true}}
	}
	for _, to := range goals {
		e := Exit{Target: to}
		if len(moves) == 1 {
			e.Verb = moves[0]
			e.Next.Open = requiredOf[e.Verb] != "" && e.Verb != Ask
		}
		exits = append(exits, e)
	}
	return exits
}

// Permits reports whether the policy allows a tag in the text. A state name that is known only
// when the state runs matches every state, and the text of a result matches every payload.
func (d *Analysis) Permits(t Tag) bool {
	p := &d.State.Policy.Transitions
	return !p.Restricted && d.State.Kind == Script || d.matcher().allows(p, t)
}

// matcher returns a matcher that treats tags as part of the state's text: names that are known
// only when the state runs match every state.
func (d *Analysis) matcher() matcher { return matcher{d.w.catalog, d} }

// Target resolves a state name in the text or the policy to a file.
func (d *Analysis) Target(name string) Target {
	g := Target{Name: strings.TrimSpace(name)}
	g.State = d.w.catalog.find(g.Name)
	described := g.Name == "" || len(strings.Fields(g.Name)) > 1 ||
		slices.Contains(placeholders, strings.ToUpper(Stem(g.Name)))
	g.Open = g.State == "" && (IsOpen(g.Name) || (described && d.State.Kind == Prompt && d.hasTransition))
	return g
}

// IsOpen reports whether a state name in a file is known only when the state runs. Such a name
// contains, for example, a template, a shell variable, or the quotes of a program that composes
// the name. A name without letters and digits, as in <goto>…</goto>, is open too.
func IsOpen(name string) bool {
	if name == "" || name == "." || name == ".." {
		return false
	}
	named := strings.ContainsFunc(name, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
	return !named || strings.ContainsAny(name, "{}$`%<>[]|*?\"'!…")
}

// placeholders are words that examples use in place of a state's name.
var placeholders = []string{
	"STATE", "STATE_NAME", "NEXT_STATE", "TARGET", "FILE", "FILENAME", "FILE_NAME", "NAME", "X",
}
