package protocol

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Target is a state that a transition names. The zero Target means that it names none.
type Target struct {
	Name  string // as written; "" if a policy leaves it open
	State string // its file; "" if Open, or if the file is missing
	Open  bool   // known only when the state runs: a variable, a placeholder, a free choice
}

// Exit is one transition that a state can end with, as far as its file shows.
type Exit struct {
	Verb   Verb   // "" if a policy leaves it open, and for OnExhausted
	Target Target // zero for a result; for an ask, its next or its timeout_next
	Next   Target // return of a call or function, next of a fork; else zero
	Pos    Pos    // in the file; zero for the short form of a policy
	// Delay is how long the agent waits before the target starts, as written: the attribute after
	// of a goto or reset, or timeout of an ask; "" if it is missing.
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

// Analysis has the tags in the file of a state, and the transitions that the state can end with.
type Analysis struct {
	State *State
	Lines []string    // of the text
	Tags  []ParsedTag // in the text but not in comments of a script; positions are in the file

	w             *Workflow
	shown         []ParsedTag // the Tags that the policy allows
	exits         []Exit
	hasTransition bool // the policy or the text shows a transition that is not an example
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
		d.exits = append(d.exits, Exit{Verb: Result}) // as in "answer in <result> tags"
	}
	for _, r := range d.State.References {
		if r.Role == "on_exhausted" {
			d.exits = append(d.exits, Exit{Target: d.Target(r.Name), Pos: r.Pos, OnExhausted: true})
		}
	}
	return d
}

// Source returns a tag as written in the file, from its opening to its closing.
func (d *Analysis) Source(t ParsedTag) string { return d.State.Body[t.start:t.end] }

// IsComment reports whether the state is a script and the line consists of a comment only.
func (d *Analysis) IsComment(line string) bool { return d.State.isComment(line) }

// TrustProblems returns why Decide would refuse a tag of the text although the policy allows it:
// the script lacks an option, or a target is trusted and not named by the workflow.
func (d *Analysis) TrustProblems(t Tag) []Problem {
	states := map[string]string{}
	for _, ref := range t.StateRefs() {
		if name := d.Target(ref.State).State; name != "" {
			states[ref.Role] = name
		}
	}
	return d.w.trustProblems(d.matcher(), d.State, t, states)
}

// exitsOf returns the exits that a tag describes: two for an ask with a timeout, else one.
// target resolves the name of a state in the tag.
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

// exitsOfRule returns the exits that an entry of allowed_transitions allows, none if
// allowed_tags excludes its verb.
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

// choice resolves a name in a policy. An empty name gives an open target.
func (d *Analysis) choice(name string) Target {
	if name == "" {
		return Target{Open: true}
	}
	return d.Target(name)
}

// shortExits returns the exits that the short form of a policy allows beyond the tags of the
// text: a result, and one exit to each state that no tag names.
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
			if !d.namesTarget(target) {
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

// namesTarget reports whether an allowed tag of the text names the state.
func (d *Analysis) namesTarget(target string) bool {
	return slices.ContainsFunc(d.shown, func(t ParsedTag) bool {
		return slices.ContainsFunc(t.StateRefs(), func(ref StateRef) bool { return d.w.catalog.same(target, ref.State) })
	})
}

// Permits reports whether the policy allows a tag of the text. A name that is known only when
// the state runs matches every state, and the text of a result matches every payload.
func (d *Analysis) Permits(t Tag) bool {
	p := &d.State.Policy.Transitions
	return !p.Restricted && d.State.Kind == Script || d.matcher().allows(p, t)
}

// matcher returns a matcher for tags in the text of the state.
func (d *Analysis) matcher() matcher { return matcher{d.w.catalog, d} }

// Target resolves a name in the text or the policy.
func (d *Analysis) Target(name string) Target {
	g := Target{Name: strings.TrimSpace(name)}
	g.State = d.w.catalog.find(g.Name)
	described := g.Name == "" || len(strings.Fields(g.Name)) > 1 ||
		slices.Contains(placeholders, strings.ToUpper(Stem(g.Name)))
	g.Open = g.State == "" && (IsOpen(g.Name) || (described && d.State.Kind == Prompt && d.hasTransition))
	return g
}

// IsOpen reports whether a name has parts that are filled in later, for example templates, variables
// of a shell, or the quotes of a program that composes it, or whether it has no letter or digit
// at all, as in <goto>…</goto>.
func IsOpen(name string) bool {
	if name == "" || name == "." || name == ".." {
		return false
	}
	named := strings.ContainsFunc(name, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
	return !named || strings.ContainsAny(name, "{}$`%<>[]|*?\"'!…")
}

// placeholders are words that examples use instead of the name of a state.
var placeholders = []string{
	"STATE", "STATE_NAME", "NEXT_STATE", "TARGET", "FILE", "FILENAME", "FILE_NAME", "NAME", "X",
}
