package protocol

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Decide reads the final message of a state and returns the agent's next move. from is the state's
// file, and text is an agent's text or a script's output. If the message is not exactly one allowed
// transition, Decide returns Problems that explain to the message's author what is wrong. returns
// is the state that gets the agent's result; it is empty if a result ends the agent. meta is the
// run's metadata: a variable of a fork must not have the same name as an entry of meta.
func (w *Workflow) Decide(from, text, returns string, meta map[string]string) (Decision, []Problem) {
	d, problems := w.decide(from, text)
	isRight := len(problems) == 0
	for _, s := range d.Spawns {
		if why := ShadowedMeta(s.Vars, slices.Collect(maps.Keys(meta))); isRight && why != "" {
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

// decide implements Decide without the checks of metadata and payloads.
func (w *Workflow) decide(from, text string) (d Decision, problems []Problem) {
	state, ok := w.states[from]
	if !ok {
		return d, []Problem{*w.catalog.noState(from)}
	}
	if state.Policy.Plain {
		return Decision{Then: Move{Verb: Result, Text: text}}, nil
	}
	found := state.Policy.Transitions.scanMessage(text)
	// An empty answer doesn't prove that the work is done, but passing commands of done_when do.
	isDone := state.Policy.Convergence != nil || strings.TrimSpace(text) != ""
	if t, ok := (matcher{catalog: w.catalog}).implicit(&state.Policy.Transitions); ok && len(found.tags) == 0 && isDone {
		found.tags = []ParsedTag{{Tag: t}}
	}
	if p := cmp.Or(w.noTag(state, text, found), tooMany(state, found.tags)); p != nil {
		return d, []Problem{*p}
	}
	for _, t := range found.tags {
		problems = append(problems, w.transition(state, t, &d)...)
	}
	// The forking agent continues in the state next, so all forks must name the same one.
	i := slices.IndexFunc(d.Spawns, func(s Spawn) bool { return s.Next != d.Spawns[0].Next })
	if len(problems) == 0 && i > 0 {
		problems = []Problem{{
			Code: "fork-next",
			Message: fmt.Sprintf("the forks disagree on next: the first has %s, number %d has %s",
				Quote(d.Spawns[0].Next), i+1, Quote(d.Spawns[i].Next)),
			Hint: "give all forks the same next",
		}}
	}
	return d, problems
}

// NoTag is the code of the Problem for a message without a tag.
const NoTag = "no-tag"

// noTag returns a problem if a message has no tag, else nil. If a text in the message looks like a
// tag, the problem quotes it.
func (w *Workflow) noTag(s *State, text string, found scanResult) *Problem {
	if len(found.tags) > 0 {
		return nil
	}
	p := &Problem{Code: NoTag, Message: "there is no transition tag"}
	malformed := w.malformed(&s.Policy.Transitions, text, nil, true)
	switch u, n := found.unclosed, len(malformed); {
	case s.Kind == Prompt && strings.TrimSpace(text) == "":
		p.Message = "the answer is empty: " + p.Message
	case n > 0:
		last := malformed[n-1]
		p.Message += ": " + strings.Replace(last.Message, "> ", fmt.Sprintf("> at %s ", last.Pos), 1)
		p.Hint = last.Hint
	case u != nil:
		p.Message += fmt.Sprintf(": <%s> at %s is not closed", u.Verb, u.Pos)
		p.Hint = fmt.Sprintf("close it with </%s>", u.Verb)
	case s.Kind == Script:
		p.Hint = "print exactly one, such as <goto>STATE</goto> or <result>text</result>"
	}
	return p
}

// tooMany returns a problem if a message contains several tags. It returns nil if all of them are
// forks and the state allows several forks.
func tooMany(s *State, tags []ParsedTag) *Problem {
	isFork := func(t ParsedTag) bool { return t.Verb == Fork }
	others := slices.ContainsFunc(tags, func(t ParsedTag) bool { return !isFork(t) })
	if len(tags) <= 1 || !others && s.Policy.Transitions.AllowsManyForks() {
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
		p.Message += "; several forks at once need " + ManyForksHint(s.Kind)
	}
	return p
}

// ManyForksHint returns what the author of a state must write to allow several forks at the same
// time.
func ManyForksHint(k Kind) string {
	if k == Script {
		return "the comment # raymond: many_forks=true in the script"
	}
	return "many: true in the fork entry of allowed_transitions"
}

// brokenState is the code of a problem with a tag whose target exists but can't be run.
const brokenState = "broken-state"

// FindBrokenState searches the problems that Decide returned for one about a target that exists
// but can't be run. It returns the first such problem, or nil if no problem is of this kind. The
// problem is a mistake in the workflow, not in the message, so a reminder to the agent would not
// help.
func FindBrokenState(problems []Problem) *Problem {
	if i := slices.IndexFunc(problems, func(p Problem) bool { return p.Code == brokenState }); i >= 0 {
		return &problems[i]
	}
	return nil
}

// transition checks one tag against the workflow and the policy of state s. If the policy allows
// the tag, transition adds it to the decision d. It returns the tag's problems.
func (w *Workflow) transition(s *State, t ParsedTag, d *Decision) []Problem {
	problems := slices.Concat(t.Problems, t.ValueProblems())
	if len(problems) > 0 {
		return problems
	}
	m, states := matcher{catalog: w.catalog}, map[string]string{} // states contains the files of states, by role
	for _, ref := range t.StateRefs() {
		name, problem := w.Resolve(strings.TrimSpace(ref.State))
		if problem == nil && len(w.states[name].Problems) > 0 {
			problem = &Problem{Code: brokenState, Message: fmt.Sprintf("state %s can't be run: %v", Quote(name), w.states[name].Problems[0])}
		}
		if problem != nil {
			problem.Pos, problem.Message = t.Pos, fmt.Sprintf("%s of <%s>: %s", ref.Role, t.Verb, problem.Message)
			problems = append(problems, *problem)
		}
		states[ref.Role] = name
	}
	switch {
	case len(problems) > 0:
		return problems
	case s.Kind == Prompt && !m.allows(&s.Policy.Transitions, t.Tag):
		return []Problem{NotAllowed(t.Tag)}
	}
	target, next, input := states[roleTarget], states[roleNext], t.Attrs["input"]
	switch t.Verb {
	case Result:
		d.Then = Move{Verb: Result, Text: t.Body}
	case Fork:
		d.Spawns = append(d.Spawns, Spawn{State: target, Next: next, Dir: t.Attrs["cd"], Input: input, Vars: t.Variables()})
		d.Then = Move{Verb: Goto, To: next}
	case Call, Function:
		d.Then = Move{Verb: t.Verb, To: target, Return: states[roleReturn], Backend: t.Attrs["agent"], Model: t.Attrs["model"], Input: input}
	case Ask:
		q := Question{Text: strings.TrimSpace(t.Body), Untrusted: t.Attrs["untrusted"] == "true"}
		if choices, ok := t.Attrs["choices"]; ok {
			q.Choices = listOf(choices)
		}
		if from, ok := t.Attrs["from"]; ok {
			q.From = listOf(from)
		}
		q.Timeout, _ = parseDuration(t.Attrs["timeout"])
		q.Where, _ = parseNumber(t.Attrs["where"])
		q.TimeoutNext = states[roleTimeoutNext]
		d.Then = Move{Verb: Ask, To: next, Question: &q}
	default:
		after, _ := parseDuration(t.Attrs["after"])
		d.Then = Move{Verb: t.Verb, To: target, Dir: t.Attrs["cd"], Input: input, After: after}
	}
	return w.trustProblems(m, s, t.Tag, states)
}

// Variables returns the attributes of a fork that become variables of the new agent. It returns nil
// if the fork has no such attribute.
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

// NotAllowed returns the problem for a tag that the policy of the state does not allow.
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
		p.Hint = "where, from and untrusted need an entry of the policy with the same values"
	}
	return p
}
