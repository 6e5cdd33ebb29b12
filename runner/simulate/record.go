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

// Record turns what is known of a finished run into replies that bring the same run about, with
// its path, and how it ended, as what is expected. What a resume, a retry or a reminder repeated is in them once. What
// people answered is in them too, and a question that timed out is not: it must have been the
// last of its agent. The run's input and limits are not in them: they must be given again.
//
// Where the transcript of a conversation is missing, the reply is the tag alone that the run
// followed, and the states of which not even that is known are returned.
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
		list, isWhole := spoken(x, resultOf(r, x))
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

// withoutRepeated leaves out the executions with which an agent could not continue, and that a
// resume ran again.
func withoutRepeated(all []report.Exec) []report.Exec {
	next := map[string]string{} // the state of each agent's next execution
	var kept []report.Exec
	for _, x := range slices.Backward(all) {
		if x.Status == report.Completed || x.Transition != nil || next[x.Agent] != x.State {
			kept = append(kept, x)
		}
		next[x.Agent] = x.State
	}
	slices.Reverse(kept)
	return kept
}

// spoken returns what an execution brought: a reply for each attempt, or one. The second value is false where
// the last message of one that succeeded is not known. result is its agent's, if it ended here.
func spoken(x report.Exec, result string) (list []Reply, isWhole bool) {
	said := lastWords(x.Messages)
	if said == "" {
		said = tagOf(x.Transition, result)
	}
	left := x.Spent.USD
	for _, a := range x.Attempts {
		list, left = append(list, verdict(a, Text(said))), max(0, left-a.USD)
	}
	switch {
	case len(list) > 0:
	case x.Status == report.Completed:
		list = []Reply{{Text: Text(said)}}
	default:
		list = []Reply{failed(cmp.Or(x.Error, "not started"))}
	}
	list[len(list)-1].Cost += Cost(left)
	return list, said != "" || x.Status != report.Completed
}

// verdict is the last invocation of an attempt. What one that failed would have done next does not count.
func verdict(a report.Attempt, said Text) Reply {
	if len(a.Results) == 0 && !a.Converged {
		r := failed(cmp.Or(a.Reason, "failed"))
		r.Cost = Cost(a.USD)
		return r
	}
	r := Reply{Text: said, Cost: Cost(a.USD)}
	for _, c := range a.Results {
		r.Checks = append(r.Checks, min(max(c.RC, 0), maxCode))
	}
	return r
}

func failed(why string) Reply {
	return Reply{Error: &Error{Class: string(runner.Fatal), Message: Text(why)}}
}

// lastWords returns the last message of a conversation's agent.
func lastWords(all []runner.Message) string {
	for _, m := range slices.Backward(all) {
		if m.From == runner.FromAgent && m.Subagent == "" && m.Text != "" {
			return m.Text
		}
	}
	return ""
}

// resultOf is the result of the agent that ended with an execution, "" for any other.
func resultOf(r *insight.Report, x report.Exec) string {
	if x.Transition == nil || x.Transition.Target != "" {
		return ""
	}
	for _, a := range r.Agents {
		if a.ID == x.Agent {
			return a.Result
		}
	}
	return ""
}

// tagOf writes a transition as an agent would; "" for one whose tag has more to it.
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
