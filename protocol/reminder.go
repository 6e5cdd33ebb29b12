package protocol

import (
	"fmt"
	"slices"
	"strings"
)

// Reminder returns the text that asks an agent to answer again after Decide returned problems with
// its message. The text lists the problems. It also shows, as a tag, every transition that the
// agent's state (from) allows. A target appears as the policy spells it, or as STATE if the policy
// leaves it open.
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
		// Without a policy, an ask or a join is shown only if the state's text contains one or the
		// agent has tried to write one.
		teach = func(v Verb) bool {
			if allowed.Restricted {
				return allowed.CountsVerb(v)
			}
			opening := "<" + string(v)
			return !v.MustBeNamed() || strings.Contains(s.Body, opening) ||
				slices.ContainsFunc(problems, func(p Problem) bool { return strings.Contains(p.Message, opening) })
		}
	}
	b.WriteString("\n" + allowed.reminder(teach))
	return b.String()
}

// reminder returns the sentences of a Reminder that list the tags which the policy allows. It
// leaves out the verbs for which teach returns false.
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

// placeholder is shown in place of a state name that the policy leaves open.
const placeholder = "STATE"

// examples returns the tags that a policy allows, as an agent would write them. It leaves out the
// verbs for which teach returns false.
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

// shortExamples returns the tags of one verb that the short form of a policy allows. If targets is
// nil, every state is allowed.
func shortExamples(v Verb, targets []string) []Tag {
	if v == Result || targets == nil {
		return []Tag{(&Rule{}).example(v)}
	}
	var tags []Tag
	for _, target := range targets {
		r := Rule{States: map[string]string{roleTarget: target}}
		if !v.HasTarget() || requiredOf[v] != "" && len(targets) == 1 {
			r.States[roleNext], r.States[roleReturn] = target, target
		}
		tags = append(tags, r.example(v))
	}
	return tags
}

// example returns a tag of one verb that matches the rule, with placeholders where the rule
// leaves something open.
func (r *Rule) example(v Verb) Tag {
	t := r.tagFor(v)
	switch {
	case v == Ask || v == Result && r.Payload == nil:
		t.Body = "…"
	case t.Body == "":
		t.Body = placeholder
	}
	if role := requiredOf[v]; role != "" && t.Attrs[role] == "" {
		t.Attrs[role] = placeholder
	}
	switch missing := checkTimeout(t.Attrs); {
	case r.Tag != Ask || missing == "":
	case r.States[roleTimeoutNext] == "":
		t.Attrs[roleTimeoutNext] = placeholder
	default:
		t.Attrs["timeout"] = "48h"
	}
	return t
}
