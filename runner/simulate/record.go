package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// Record converts a finished run into replies with which a simulation repeats the run. The replies
// expect the same path and the same result. Work that was repeated after a resume, a retry or a
// reminder is included once. Answers to questions are included. A question that timed out is not
// included; a simulation repeats it correctly only if its agent asked no question after it. The
// input and the limits of the run are not included.
//
// If the transcript of a conversation is missing, the reply contains only the tag of the
// transition. If that tag can't be reconstructed either, the name of the state is added to unknown.
func Record(r *insight.Report) (replies *Replies, unknown []string) {
	out := &Replies{Meta: map[string]Text{}, States: map[string][]Reply{}, Expect: &Expect{Path: Path{}}}
	for k, v := range r.Meta {
		out.Meta[k] = Text(v)
	}
	all := withoutRepeated(r.Executions)
	isAlone := !slices.ContainsFunc(all, func(x report.Exec) bool { return x.Agent != all[0].Agent })
	for _, x := range all {
		out.Expect.Path[x.Agent] = append(out.Expect.Path[x.Agent], x.State)
		if x.Kind != string(protocol.Prompt) {
			continue
		}
		result := ""
		isEnd := x.Transition != nil && x.Transition.Target == ""
		if i := slices.IndexFunc(r.Agents, func(a report.Agent) bool { return a.ID == x.Agent }); isEnd && i >= 0 {
			result = r.Agents[i].Result
		}
		list, isWhole := repliesOf(x, result)
		if !isWhole && !slices.Contains(unknown, x.State) {
			unknown = append(unknown, x.State)
		}
		key := x.State
		if !isAlone {
			key = x.Agent + "/" + key
		}
		out.States[key] = append(out.States[key], list...)
	}
	answered := slices.DeleteFunc(slices.Clone(r.Waits), func(w report.Wait) bool { return w.For != state.ForAnswer || w.By == "" || w.Answer == "" })
	slices.SortStableFunc(answered, func(a, b report.Wait) int { return a.Number - b.Number })
	for _, w := range answered {
		a := Answer{Agent: w.Agent, Text: Text(w.Answer)}
		if isAlone {
			a.Agent = ""
		}
		out.Answers = append(out.Answers, a)
	}
	if r.Status == string(state.Completed) || r.Status == string(state.Failed) {
		out.Expect.Status = r.Status
	}
	if r.Status == string(state.Completed) {
		result := Text(r.Result)
		out.Expect.Result = &result
	}
	return out, unknown
}

// withoutRepeated returns all executions except interrupted ones: executions that ended without a
// transition and were repeated by a resume.
func withoutRepeated(all []report.Exec) []report.Exec {
	next := map[string]string{} // state of each agent's next execution
	var remaining []report.Exec
	for _, x := range slices.Backward(all) {
		if x.Status == report.Completed || x.Transition != nil || next[x.Agent] != x.State {
			remaining = append(remaining, x)
		}
		next[x.Agent] = x.State
	}
	slices.Reverse(remaining)
	return remaining
}

// repliesOf returns the replies for an execution: one for each attempt, and at least one. isWhole
// is false if the execution was successful but its last message is unknown. result is the result of
// the agent if the agent ended with this execution.
func repliesOf(x report.Exec, result string) (list []Reply, isWhole bool) {
	text := ""
	for _, m := range x.Messages {
		if m.From == runner.FromAgent && m.Subagent == "" && m.Text != "" {
			text = m.Text // the last message of the agent itself
		}
	}
	if text == "" {
		text = tagOf(x.Transition, result)
	}
	left := x.Spent.USD
	for _, a := range x.Attempts {
		r := Reply{Text: Text(text)}
		if len(a.Results) == 0 && !a.Converged { // the attempt failed before commands ran
			r = failedReply(cmp.Or(a.Reason, "failed"))
		}
		r.Cost = Cost(a.USD)
		for _, c := range a.Results {
			r.Checks = append(r.Checks, min(max(c.RC, 0), maxCode))
		}
		list, left = append(list, r), max(0, left-a.USD)
	}
	switch {
	case len(list) > 0:
	case x.Status == report.Completed:
		list = []Reply{{Text: Text(text)}}
	default:
		list = []Reply{failedReply(cmp.Or(x.Error, "not started"))}
	}
	list[len(list)-1].Cost += Cost(left)
	return list, text != "" || x.Status != report.Completed
}

// failedReply returns a reply that makes an invocation fail with the given reason.
func failedReply(why string) Reply {
	return Reply{Error: &Error{Class: string(runner.Fatal), Message: Text(why)}}
}

// tagOf returns the tag for a transition. It returns "" if the tag would need attributes that are
// unknown.
func tagOf(t *state.Transition, result string) string {
	if t == nil {
		return ""
	}
	switch tag := protocol.Verb(t.Tag); {
	case tag == protocol.Goto, tag == protocol.Reset:
		return fmt.Sprintf("<%s>%s</%[1]s>", tag, t.Target)
	case tag == protocol.Call, tag == protocol.Function:
		return fmt.Sprintf("<%s return=\"%s\">%s</%[1]s>", tag, t.Return, t.Target)
	case tag == protocol.Result && t.Target == "" && !strings.Contains(result, "</result>"):
		return "<result>" + result + "</result>"
	}
	return ""
}
