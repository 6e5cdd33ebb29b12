package protocol

import (
	"fmt"
	"slices"
	"strings"
)

// Reminder returns the text that asks an agent again after a message for which Decide
// returned problems. It says what was wrong and what state from allows. Every allowed
// transition is shown as the tag itself, with targets as the policy spells them and
// STATE for what it leaves open.
func (w *Workflow) Reminder(from string, problems []Problem) string {
	var b strings.Builder
	b.WriteString("Your last message does not end this step:\n")
	const most = 5
	for _, p := range problems[:min(most, len(problems))] {
		fmt.Fprintf(&b, "- %v\n", p)
	}
	if left := len(problems) - most; left > 0 {
		fmt.Fprintf(&b, "- and %d more\n", left)
	}
	allowed, teach := &Transitions{}, olderVerb
	if s, ok := w.states[from]; ok {
		allowed = &s.Policy.Transitions
		teach = func(v Verb) bool { return s.teaches(v, problems) }
	}
	b.WriteString("\n" + allowed.reminder(teach))
	return b.String()
}

// teaches reports whether a reminder shows the form of a verb. Without a policy it shows an
// ask or a join only where the text of the state does, or where the agent has tried one.
func (s *State) teaches(v Verb, problems []Problem) bool {
	if s.Policy.Transitions.Restricted {
		return s.Policy.Transitions.CountsVerb(v)
	}
	opening := "<" + string(v)
	return !v.MustBeNamed() || strings.Contains(s.Body, opening) ||
		slices.ContainsFunc(problems, func(p Problem) bool { return strings.Contains(p.Message, opening) })
}

// reminder says which tags a policy allows, and how many of them.
func (p *Transitions) reminder(teach func(Verb) bool) string {
	tags := p.examples(teach)
	if len(tags) == 0 {
		return "Answer with exactly one transition tag; this state allows none.\n"
	}
	text := "Answer with exactly one tag, one of these:\n"
	if p.AllowsManyForks() {
		text = "Answer with exactly one tag, one of these, or with several <fork> tags that have the same next:\n"
	}
	list := strings.Join(tags, "\n") + "\n"
	switch {
	case !strings.Contains(list, placeholder):
		return text + list
	case p.Targets != nil:
		return text + list + "STATE is one of " + strings.Join(p.Targets, ", ") + ".\n"
	}
	return text + list + "STATE is the name of a state.\n"
}

// placeholder is shown for the name of a state that a policy leaves open.
const placeholder = "STATE"

// examples returns the tags that a policy allows as they would be written.
func (p *Transitions) examples(teach func(Verb) bool) []string {
	var list []string
	add := func(t Tag) {
		if teach(t.Verb) && (p.Tags == nil || slices.Contains(p.Tags, t.Verb)) {
			list = append(list, t.String())
		}
	}
	for _, r := range p.Allowed {
		for _, v := range r.verbs() {
			add(r.example(v))
		}
	}
	if p.Allowed != nil || p.Restricted && p.Tags == nil && p.Targets == nil {
		return list
	}
	for _, v := range verbs {
		for _, t := range shortExamples(v, p.Targets) {
			add(t)
		}
	}
	return list
}

// shortExamples returns what the short form of a policy allows of one verb.
func shortExamples(v Verb, targets []string) []Tag {
	if v == Result || targets == nil {
		return []Tag{(&Rule{}).example(v)}
	}
	var tags []Tag
	for _, target := range targets {
		r := Rule{States: map[string]string{partTarget: target}}
		if !v.HasTarget() || requiredOf[v] != "" && len(targets) == 1 {
			r.States[partNext], r.States[partReturn] = target, target
		}
		tags = append(tags, r.example(v))
	}
	return tags
}

// example returns the tag of one verb that matches the rule, with placeholders
// for what the rule leaves open.
func (r *Rule) example(v Verb) Tag {
	t := r.as(v)
	switch {
	case v == Ask || v == Result && r.Payload == nil:
		t.Body = "…"
	case t.Body == "":
		t.Body = placeholder
	}
	if part := requiredOf[v]; part != "" && t.Attrs[part] == "" {
		t.Attrs[part] = placeholder
	}
	switch missing := missingHalf(t.Attrs); {
	case r.Tag != Ask || missing == "":
	case r.States[partTimeoutNext] == "":
		t.Attrs[partTimeoutNext] = placeholder
	default:
		t.Attrs["timeout"] = "48h"
	}
	return t
}
