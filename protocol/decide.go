package protocol

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Decide reads the final message of state from, which is an agent's text or a script's
// output. It returns what the agent does next. When the message is not exactly one
// allowed transition it returns Problems instead, written for the author of the message.
// An agent that ends with a result goes on in state returns; "" is for one that ends itself.
// The names of meta, the run's metadata, are not for forks to use.
func (w *Workflow) Decide(from, text, returns string, meta map[string]string) (Decision, []Problem) {
	d, problems := w.decide(from, text)
	for _, spawn := range d.Spawns {
		if why := Shadowing(spawn.Vars, slices.Collect(maps.Keys(meta))); why != "" {
			problems = append(problems, Problem{Code: "bad-tag", Message: "<fork>: " + why})
		}
	}
	if len(problems) == 0 {
		problems = w.checkPayloads(from, &d, returns)
	}
	if len(problems) > 0 {
		return Decision{}, problems
	}
	return d, nil
}

// decide is Decide without a look at payloads.
func (w *Workflow) decide(from, text string) (Decision, []Problem) {
	state, ok := w.states[from]
	if !ok {
		return Decision{}, []Problem{*w.catalog.noState(from)}
	}
	if state.Policy.Plain {
		return Decision{Then: Move{Verb: Result, Text: text}}, nil
	}
	found := state.Policy.Transitions.scanMessage(text)
	if len(found.tags) == 0 {
		return w.decideImplicit(state, text, found)
	}
	if p := tooMany(state, found.tags); p != nil {
		return Decision{}, []Problem{*p}
	}
	var d Decision
	var problems []Problem
	for _, t := range found.tags {
		move, spawn, found := w.transition(state, t)
		d.Then = move
		d.Spawns = append(d.Spawns, spawn...)
		problems = append(problems, found...)
	}
	if len(problems) == 0 {
		problems = sameNext(d.Spawns)
	}
	if len(problems) > 0 {
		return Decision{}, problems
	}
	return d, nil
}

// NoTag is the code of the Problem of a message without a tag.
const NoTag = "no-tag"

// decideImplicit handles a message without a tag.
func (w *Workflow) decideImplicit(s *State, text string, found scanned) (Decision, []Problem) {
	if t, ok := (matcher{catalog: w.catalog}).implicit(&s.Policy.Transitions); ok {
		move, spawn, problems := w.transition(s, Written{Tag: t})
		if len(problems) > 0 {
			return Decision{}, problems
		}
		return Decision{Spawns: spawn, Then: move}, nil
	}
	p := Problem{Code: NoTag, Message: "there is no transition tag"}
	near := w.nearTag(text, true)
	switch u := found.unclosed; {
	case u != nil:
		p.Message += fmt.Sprintf(": <%s> at %s is not closed", u.Verb, u.Pos)
		p.Hint = fmt.Sprintf("close it with </%s>", u.Verb)
	case near != nil:
		p.Message += ": " + near.Message
		p.Hint = near.Hint
	case s.Kind == Script:
		p.Hint = "print exactly one, such as <goto>STATE</goto> or <result>text</result>"
	}
	return Decision{}, []Problem{p}
}

// element is XML with nothing but a name in it, of one line.
var element = pattern(`<([A-Za-z]{3,12})(?:\s[^<>]*)?>([^<>\n]*)</([A-Za-z]{3,12})\s*>`)

// NearTag returns a Problem about the first thing in a text that looks like a tag with a misspelled name, with its place;
// nil when there is none. What names no state of the workflow is other XML.
func (w *Workflow) NearTag(text string) *Problem { return w.nearTag(text, false) }

// nearTag is NearTag. With isMessage, what the text ends with was meant as a tag, whatever is in it.
func (w *Workflow) nearTag(text string, isMessage bool) *Problem {
	for _, m := range element().FindAllStringSubmatchIndex(text, -1) {
		name, target := text[m[2]:m[3]], text[m[4]:m[5]]
		verb := Verb(Nearest(name, verbNames()))
		isNear := name == text[m[6]:m[7]] && verb != "" && !slices.Contains(verbs, Verb(name)) && distance(strings.ToLower(name), string(verb)) <= 2
		isLast := isMessage && !verb.MustBeNamed() && strings.TrimSpace(text[m[1]:]) == ""
		if isNear && (isLast || verb.HasTarget() && w.catalog.find(target) != "") {
			place := placer{text: text, pos: Pos{1, 1}}
			return &Problem{Pos: place.at(m[0]), Code: "near-tag", Message: fmt.Sprintf("<%s> is not a tag", name), Hint: fmt.Sprintf("did you mean <%s>", verb)}
		}
	}
	return nil
}

// tooMany returns a problem when there are several tags, unless they are forks and the
// state allows several.
func tooMany(s *State, tags []Written) *Problem {
	isFork := func(t Written) bool { return t.Verb == Fork }
	others := slices.ContainsFunc(tags, func(t Written) bool { return !isFork(t) })
	if len(tags) == 1 || !others && s.Policy.Transitions.AllowsManyForks() {
		return nil
	}
	const most = 10
	list := make([]string, 0, most)
	for _, t := range tags[:min(most, len(tags))] {
		list = append(list, fmt.Sprintf("<%s> %s at %s", t.Verb, Quote(strings.TrimSpace(t.Body)), t.Pos))
	}
	message := fmt.Sprintf("there are %d transition tags: %s", len(tags), strings.Join(list, ", "))
	if len(tags) > most {
		message += " and more"
	}
	p := &Problem{Pos: tags[1].Pos, Code: "several-tags", Message: message, Hint: "write exactly one"}
	switch {
	case s.Policy.Transitions.AllowsManyForks():
		p.Hint = "write exactly one, or nothing but forks"
	case !others:
		p.Message += "; several forks at once need " + ManyForks(s.Kind)
	}
	return p
}

// ManyForks is how a state of a kind asks for several forks at once.
func ManyForks(k Kind) string {
	if k == Script {
		return "the comment # raymond: many_forks=true in the script"
	}
	return "many: true in the fork entry of allowed_transitions"
}

// brokenState is the code of a target that exists and can't be run.
const brokenState = "broken-state"

// Broken returns the problem among those of Decide that is about a state which exists but
// can't be run, nil when there is none. A reminder would not help then: the workflow is
// wrong, not the message.
func Broken(problems []Problem) *Problem {
	if i := slices.IndexFunc(problems, func(p Problem) bool { return p.Code == brokenState }); i >= 0 {
		return &problems[i]
	}
	return nil
}

// transition checks one tag against the workflow and the state's policy.
func (w *Workflow) transition(s *State, t Written) (Move, []Spawn, []Problem) {
	problems := slices.Concat(t.Problems, t.ValueProblems())
	if len(problems) > 0 {
		return Move{}, nil, problems
	}
	m, states := matcher{catalog: w.catalog}, map[string]string{} // by the part that names them
	for _, part := range t.StateParts() {
		name, more := w.runnable(t.Tag, part.Name, part.State)
		states[part.Name] = name
		problems = append(problems, more...)
	}
	switch {
	case len(problems) > 0:
	case s.Kind == Prompt && !m.allows(&s.Policy.Transitions, t.Tag):
		problems = []Problem{NotAllowed(t.Tag)}
	default:
		problems = w.barred(m, s, t.Tag, states)
	}
	if len(problems) > 0 {
		return Move{}, nil, problems
	}
	move, spawns := moveOf(t.Tag, states)
	return move, spawns, nil
}

// moveOf turns a tag into what it means. The states are resolved, by the part of the tag
// that names them.
func moveOf(t Tag, states map[string]string) (Move, []Spawn) {
	target, next, input := states[partTarget], states[partNext], t.Attrs["input"]
	switch t.Verb {
	case Result:
		return Move{Verb: Result, Text: t.Body}, nil
	case Fork:
		s := Spawn{State: target, Next: next, Dir: t.Attrs["cd"], Input: input, Vars: t.Variables()}
		return Move{Verb: Goto, To: next}, []Spawn{s}
	case Call, Function:
		return Move{Verb: t.Verb, To: target, Return: states[partReturn], Backend: t.Attrs["agent"], Model: t.Attrs["model"], Input: input}, nil
	case Ask:
		q := questionOf(t)
		q.TimeoutNext = states[partTimeoutNext]
		return Move{Verb: Ask, To: next, Question: &q}, nil
	default:
		after, _ := parseDuration(t.Attrs["after"])
		return Move{Verb: t.Verb, To: target, Dir: t.Attrs["cd"], Input: input, After: after}, nil
	}
}

// Variables returns the attributes of a fork that its worker gets, nil when
// there are none.
func (t Tag) Variables() map[string]string {
	var vars map[string]string
	for name, value := range t.Attrs {
		if slices.Contains(attributesOf[Fork], name) {
			continue
		}
		if vars == nil {
			vars = map[string]string{}
		}
		vars[name] = value
	}
	return vars
}

// runnable resolves one part of a tag to a state that can be run.
func (w *Workflow) runnable(t Tag, part, target string) (string, []Problem) {
	name, problem := w.Resolve(strings.TrimSpace(target))
	if problem == nil && len(w.states[name].Problems) > 0 {
		problem = &Problem{
			Code:    brokenState,
			Message: fmt.Sprintf("state %s can't be run: %v", Quote(name), w.states[name].Problems[0]),
		}
	}
	if problem == nil {
		return name, nil
	}
	problem.Pos = t.Pos
	problem.Message = fmt.Sprintf("%s of <%s>: %s", part, t.Verb, problem.Message)
	return "", []Problem{*problem}
}

// NotAllowed says that the policy of a state does not allow a tag.
func NotAllowed(t Tag) Problem {
	message := fmt.Sprintf("<%s> to %s", t.Verb, Quote(strings.TrimSpace(t.Body)))
	if !t.Verb.HasTarget() {
		message = fmt.Sprintf("this <%s>", t.Verb)
	}
	for _, name := range t.attributeNames() {
		message += fmt.Sprintf(" with %s=%s", name, Quote(t.Attrs[name]))
	}
	p := Problem{Pos: t.Pos, Code: "not-allowed", Message: message + " is not allowed in this state"}
	if t.isAddressed() {
		p.Hint = "where, from and untrusted are only allowed as an entry of the policy gives them"
	}
	return p
}

// sameNext returns a problem when several forks disagree on where their parent
// continues.
func sameNext(spawns []Spawn) []Problem {
	for i, s := range spawns {
		if s.Next != spawns[0].Next {
			return []Problem{{
				Code: "fork-next",
				Message: fmt.Sprintf("the forks disagree on next: the first has %s, number %d has %s",
					Quote(spawns[0].Next), i+1, Quote(s.Next)),
				Hint: "give all forks the same next",
			}}
		}
	}
	return nil
}
