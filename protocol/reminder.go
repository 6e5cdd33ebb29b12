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
	tags := allowed.examples(teach)
	switch {
	case len(tags) == 0:
		b.WriteString("\nAnswer with exactly one transition tag; this state allows none.\n")
	case allowed.AllowsManyForks():
		b.WriteString("\nAnswer with exactly one tag, one of these, or with several <fork> tags that have the same next:\n")
	default:
		b.WriteString("\nAnswer with exactly one tag, one of these:\n")
	}
	for _, tag := range tags {
		b.WriteString(tag + "\n")
	}
	switch isOpen := slices.ContainsFunc(tags, func(tag string) bool { return strings.Contains(tag, placeholder) }); {
	case isOpen && allowed.Targets != nil:
		fmt.Fprintf(&b, "STATE is one of %s.\n", strings.Join(allowed.Targets, ", "))
	case isOpen:
		b.WriteString("STATE is the name of a state.\n")
	}
	return b.String()
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
		if v == Result || p.Targets == nil {
			add((&Rule{}).example(v))
			continue
		}
		for _, target := range p.Targets {
			r := Rule{States: map[string]string{roleTarget: target}}
			if !v.HasTarget() || requiredOf[v] != "" && len(p.Targets) == 1 {
				r.States[roleNext], r.States[roleReturn] = target, target
			}
			add(r.example(v))
		}
	}
	return list
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
