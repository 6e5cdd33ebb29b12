package protocol

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Goal is a state that a transition names. The zero Goal means that it names none.
type Goal struct {
	Name  string // as it is spelled; "" when a policy leaves it open
	State string // its file; "" when Open, and when there is no such state
	Open  bool   // known only when the state runs: a variable, a placeholder, a free choice
}

// Exit is one transition that a state can end with, as far as its file shows.
type Exit struct {
	Verb   Verb // "" when a policy leaves it open, and for OnExhausted
	Target Goal // zero for a result; of an ask, its next or its timeout_next
	After  Goal // return of a call or function, next of a fork; else zero
	Pos    Pos  // in the file; zero for the short form of a policy
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

// reading is what a person who reads the file of a state understands.
type reading struct {
	w     *Workflow
	s     *State
	lines []string  // of its text
	tags  []written // in its text, with their places in the file
	shown []written // those of them that the policy allows
	firm  bool      // its policy or its text shows a transition that is not an example
}

func (w *Workflow) reading(s *State) *reading {
	d := &reading{w: w, s: s, lines: strings.Split(s.Body, "\n")}
	d.findTags()
	d.firm = s.Policy.Transitions.Restricted || slices.ContainsFunc(d.tags, func(t written) bool {
		return t.Verb == Result || isOpen(t.Body) || w.catalog.find(t.Body) != ""
	})
	d.shown = slices.DeleteFunc(slices.Clone(d.tags), func(t written) bool { return !d.permits(t.Tag) })
	return d
}

func (d *reading) exits() []Exit {
	var exits []Exit
	for _, t := range d.shown {
		exits = append(exits, d.exitsOf(t.Tag, d.goal)...)
	}
	exits = append(exits, d.policyExits()...)
	if len(exits) == 0 && d.s.Kind == Prompt && !d.s.Policy.Transitions.Restricted && strings.Contains(d.s.Body, "<result>") {
		exits = append(exits, Exit{Verb: Result}) // as in "answer in <result> tags"
	}
	for _, r := range d.s.References {
		if r.Part == "on_exhausted" {
			exits = append(exits, Exit{Target: d.goal(r.Name), Pos: r.Pos, OnExhausted: true})
		}
	}
	return exits
}

// findTags finds the tags in the text of the state. Those in comments of a script don't
// count, because they are not part of its output.
func (d *reading) findTags() {
	for _, t := range d.s.scanFile().tags {
		if d.s.Kind == Script && isComment(d.s.Name, d.lines[t.Pos.Line-1]) {
			continue
		}
		t.Pos.Line += d.s.Line - 1
		t.problems = slices.Clone(t.problems)
		for i := range t.problems {
			t.problems[i].Pos = t.Pos
		}
		d.tags = append(d.tags, t)
	}
}

// isComment reports whether a line of a script is nothing but a comment.
func isComment(script, line string) bool {
	_, ext := splitName(script)
	_, ok := commentIn(line, ext)
	return ok
}

// exitsOf returns the way in which a tag ends the state: of an ask with a timeout, both. goal returns
// what a name in it means.
func (d *reading) exitsOf(t Tag, goal func(name string) Goal) []Exit {
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
		e.After = goal(required)
	}
	return []Exit{e}
}

// policyExits returns what the policy allows beyond the tags of the text.
func (d *reading) policyExits() []Exit {
	p := &d.s.Policy.Transitions
	var exits []Exit
	for _, r := range p.Allowed {
		covered := slices.ContainsFunc(d.shown, func(t written) bool { return d.mayFit(r, t.Tag) })
		if !covered {
			exits = append(exits, d.exitsOfRule(r)...)
		}
	}
	if p.Restricted && p.isShort() {
		exits = append(exits, d.shortExits()...)
	}
	return exits
}

// exitsOfRule returns what an entry of allowed_transitions allows, which is nothing when
// allowed_tags rules it out.
func (d *reading) exitsOfRule(r Rule) []Exit {
	can := slices.DeleteFunc(r.verbs(), func(v Verb) bool {
		return d.s.Policy.Transitions.Tags != nil && !slices.Contains(d.s.Policy.Transitions.Tags, v)
	})
	switch {
	case len(can) == 0:
		return nil
	case len(can) == 1:
		t := r.as(can[0])
		t.Pos = r.Pos
		return d.exitsOf(t, d.choice)
	}
	e := Exit{Target: d.choice(r.Target), Pos: r.Pos}
	if r.Return+r.Next != "" {
		e.After = d.choice(r.Return + r.Next)
	}
	return []Exit{e}
}

// choice returns the goal that a policy names, or an open one when it names none.
func (d *reading) choice(name string) Goal {
	if name == "" {
		return Goal{Open: true}
	}
	return d.goal(name)
}

// shortExits returns what the short form of a policy allows beyond the tags of the text:
// a result, and each state that no tag names.
func (d *reading) shortExits() []Exit {
	p := &d.s.Policy.Transitions
	allowed := p.Tags
	if allowed == nil {
		allowed = slices.DeleteFunc(slices.Clone(verbs), Verb.mustBeNamed)
	}
	var exits []Exit
	isShown := func(is func(Verb) bool) bool {
		return slices.ContainsFunc(d.shown, func(t written) bool { return is(t.Verb) })
	}
	if slices.Contains(allowed, Result) && !isShown(func(v Verb) bool { return v == Result }) {
		exits = append(exits, Exit{Verb: Result})
	}
	moves := slices.DeleteFunc(slices.Clone(allowed), func(v Verb) bool { return v == Result })
	switch {
	case len(moves) == 0:
	case p.Targets != nil:
		exits = append(exits, d.shortTargets(moves)...)
	case !isShown(func(v Verb) bool { return v != Result }):
		exits = append(exits, openMove(moves, Goal{Open: true}))
	}
	return exits
}

func (d *reading) shortTargets(moves []Verb) []Exit {
	var exits []Exit
	for _, target := range d.s.Policy.Transitions.Targets {
		named := slices.ContainsFunc(d.shown, func(t written) bool {
			return slices.ContainsFunc(t.stateParts(), func(part statePart) bool { return d.w.catalog.same(target, part.state) })
		})
		if !named {
			exits = append(exits, openMove(moves, d.goal(target)))
		}
	}
	return exits
}

// openMove returns a transition to a state by one of several verbs.
func openMove(moves []Verb, to Goal) Exit {
	e := Exit{Target: to}
	if len(moves) == 1 {
		e.Verb = moves[0]
		e.After.Open = requiredOf[e.Verb] != "" && e.Verb != Ask
	}
	return e
}

// permits reports whether the policy allows a tag that the text shows. A name that is
// known only when the state runs fits anything, and so does the text of a result.
func (d *reading) permits(t Tag) bool {
	p := &d.s.Policy.Transitions
	return !p.Restricted && d.s.Kind == Script || p.allowsAs(d.w.catalog, t, func(r Rule) Tag { return d.closed(t, r) })
}

// mayFit reports whether a tag that the text of the state shows may match a rule.
func (d *reading) mayFit(r Rule, t Tag) bool { return r.fits(d.w.catalog, d.closed(t, r)) }

// closed returns the tag in which the values that the rule wants replace those that are
// known only when the state runs.
func (d *reading) closed(t Tag, r Rule) Tag {
	t.Attrs = maps.Clone(t.Attrs)
	switch {
	case t.Verb == Result && r.Payload != nil:
		t.Body = *r.Payload
	case t.Verb.hasTarget() && r.Target != "" && d.goal(t.Body).Open:
		t.Body = r.Target
	}
	for part, wanted := range map[string]string{requiredOf[t.Verb]: r.Return + r.Next, partTimeoutNext: r.TimeoutNext} {
		if name, ok := t.Attrs[part]; ok && wanted != "" && d.goal(name).Open {
			t.Attrs[part] = wanted
		}
	}
	for name, value := range r.Attrs {
		if got, ok := t.Attrs[name]; ok && isOpen(got) {
			t.Attrs[name] = value
		}
	}
	return t
}

// goal returns what a name in the text or the policy means.
func (d *reading) goal(name string) Goal {
	g := Goal{Name: strings.TrimSpace(name)}
	g.State = d.w.catalog.find(g.Name)
	g.Open = g.State == "" && (isOpen(g.Name) || d.isPlaceholder(g.Name))
	return g
}

// isOpen reports whether a name has parts that are filled in later, such as templates,
// variables of a shell, or the quotes of a program that composes it, or whether it has
// no letter or digit at all, as in <goto>…</goto>.
func isOpen(name string) bool {
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

// isPlaceholder reports whether a name in a prompt describes a state instead of naming
// one: it is empty, a word like STATE, or several words. That counts only when something
// else shows the agent a real transition.
func (d *reading) isPlaceholder(name string) bool {
	described := name == "" || len(strings.Fields(name)) > 1 ||
		slices.Contains(placeholders, strings.ToUpper(Stem(name)))
	return described && d.s.Kind == Prompt && d.firm
}
