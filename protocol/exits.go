package protocol

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Target is a state that a transition names. The zero Goal means that it names none.
type Target struct {
	Name  string // as it is spelled; "" when a policy leaves it open
	State string // its file; "" when Open, and when there is no such state
	Open  bool   // known only when the state runs: a variable, a placeholder, a free choice
}

// Exit is one transition that a state can end with, as far as its file shows.
type Exit struct {
	Verb   Verb   // "" when a policy leaves it open, and for OnExhausted
	Target Target // zero for a result; of an ask, its next or its timeout_next
	Next   Target // return of a call or function, next of a fork; else zero
	Pos    Pos    // in the file; zero for the short form of a policy
	// Delay is how long the agent waits before the target starts, as it is written: after
	// of a goto or reset, timeout of an ask. "" when it isn't said.
	Delay string
	// Backend is the agent CLI that the attribute agent of a function names, as it is written.
	Backend string
	// Model is the model that its attribute model names, as it is written.
	Model string
	// TimedOut says that an ask ends in this way when nobody answers.
	TimedOut bool
	// OnExhausted says that the state ends in this way when the attempts of its
	// done_when are used up.
	OnExhausted bool
}

// Analysis is what a person who reads the file of a state understands.
type Analysis struct {
	State *State
	Lines []string    // of its text
	Tags  []ParsedTag // in its text, with their places in the file; none of the comments of a script

	w     *Workflow
	shown []ParsedTag // those of the tags that the policy allows
	exits []Exit
	firm  bool // its policy or its text shows a transition that is not an example
}

func (w *Workflow) read(s *State) *Analysis {
	d := &Analysis{w: w, State: s, Lines: strings.Split(s.Body, "\n"), Tags: s.tags}
	d.firm = s.Policy.Transitions.Restricted || slices.ContainsFunc(d.Tags, func(t ParsedTag) bool {
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

// Source returns a tag as it is written in the file, up to its closing.
func (d *Analysis) Source(t ParsedTag) string { return d.State.Body[t.start:t.end] }

// IsComment reports whether a line of the text is nothing but a comment of a script.
func (d *Analysis) IsComment(line string) bool { return d.State.isComment(line) }

// TrustProblems says what keeps the state from writing a tag of its text that its policy allows: see Decide.
func (d *Analysis) TrustProblems(t Tag) []Problem {
	states := map[string]string{}
	for _, part := range t.StateRefs() {
		if name := d.Target(part.State).State; name != "" {
			states[part.Role] = name
		}
	}
	return d.w.barred(d.matcher(), d.State, t, states)
}

// exitsOf returns the way in which a tag ends the state: of an ask with a timeout, both. goal returns
// what a name in it means.
func (d *Analysis) exitsOf(t Tag, goal func(name string) Target) []Exit {
	e := Exit{Verb: t.Verb, Pos: t.Pos}
	said := func(name string) string { return strings.TrimSpace(t.Attrs[name]) }
	switch t.Verb {
	case Result:
		return []Exit{e}
	case Ask:
		e.Target = d.choice(t.Attrs[partNext])
		late, ok := t.Attrs[partTimeoutNext]
		if !ok && t.Attrs["timeout"] == "" {
			return []Exit{e}
		}
		return []Exit{e, {Verb: Ask, Target: d.choice(late), Pos: t.Pos, Delay: said("timeout"), TimedOut: true}}
	case Function:
		e.Backend, e.Model = said("agent"), said("model")
	case Goto, Reset:
		e.Delay = said("after")
	}
	e.Target = goal(t.Body)
	if required, ok := t.Attrs[requiredOf[t.Verb]]; ok {
		e.Next = goal(required)
	}
	return []Exit{e}
}

// exitsOfRule returns what an entry of allowed_transitions allows, which is nothing when
// allowed_tags rules it out.
func (d *Analysis) exitsOfRule(r Rule) []Exit {
	can := slices.DeleteFunc(r.verbs(), func(v Verb) bool {
		return d.State.Policy.Transitions.Tags != nil && !slices.Contains(d.State.Policy.Transitions.Tags, v)
	})
	switch {
	case len(can) == 0:
		return nil
	case len(can) == 1:
		t := r.as(can[0])
		t.Pos = r.Pos
		return d.exitsOf(t, d.choice)
	}
	e := Exit{Target: d.choice(r.States[partTarget]), Pos: r.Pos}
	if after := cmp.Or(r.States[partReturn], r.States[partNext]); after != "" {
		e.Next = d.choice(after)
	}
	return []Exit{e}
}

// choice returns the goal that a policy names, or an open one when it names none.
func (d *Analysis) choice(name string) Target {
	if name == "" {
		return Target{Open: true}
	}
	return d.Target(name)
}

// shortExits returns what the short form of a policy allows beyond the tags of the text:
// a result, and each state that no tag names.
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
			if !d.names(target) {
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

// names reports whether a tag of the text that the policy allows names a state.
func (d *Analysis) names(target string) bool {
	return slices.ContainsFunc(d.shown, func(t ParsedTag) bool {
		return slices.ContainsFunc(t.StateRefs(), func(part StateRef) bool { return d.w.catalog.same(target, part.State) })
	})
}

// Permits reports whether the policy allows a tag that the text shows. A name that is
// known only when the state runs fits anything, and so does the text of a result.
func (d *Analysis) Permits(t Tag) bool {
	p := &d.State.Policy.Transitions
	return !p.Restricted && d.State.Kind == Script || d.matcher().allows(p, t)
}

func (d *Analysis) matcher() matcher { return matcher{d.w.catalog, d} }

// Target returns what a name in the text or the policy means.
func (d *Analysis) Target(name string) Target {
	g := Target{Name: strings.TrimSpace(name)}
	g.State = d.w.catalog.find(g.Name)
	described := g.Name == "" || len(strings.Fields(g.Name)) > 1 ||
		slices.Contains(placeholders, strings.ToUpper(Stem(g.Name)))
	g.Open = g.State == "" && (IsOpen(g.Name) || (described && d.State.Kind == Prompt && d.firm))
	return g
}

// IsOpen reports whether a name has parts that are filled in later, such as templates,
// variables of a shell, or the quotes of a program that composes it, or whether it has
// no letter or digit at all, as in <goto>…</goto>.
func IsOpen(name string) bool {
	if name == "" || name == "." || name == ".." {
		return false
	}
	named := strings.ContainsFunc(name, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
	return !named || strings.ContainsAny(name, "{}$`%<>[]|*?\"'!…")
}

// placeholders are words that are used for a state in an example.
var placeholders = []string{
	"STATE", "STATE_NAME", "NEXT_STATE", "TARGET", "FILE", "FILENAME", "FILE_NAME", "NAME", "X",
}
