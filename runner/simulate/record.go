package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// Record turns what is known of a finished run into replies that bring the same run about, with
// its path, and how it ended, as what is expected. What a resume repeated is in them once. What
// people answered is in them too, and a question that timed out is not: it must have been the
// last of its agent. The run's input and limits are not in them: they must be given again.
//
// Where the transcript of a conversation is missing, the reply is the tag alone that the run
// followed, and the states of which not even that is known are returned.
func Record(r *insight.Report) (replies *Replies, unknown []string) {
	out := &Replies{Meta: map[string]Text{}, States: map[string][]Reply{}, Answers: answered(r.Waits), Expect: &Expect{Path: Path{}}}
	for k, v := range r.Meta {
		out.Meta[k] = Text(v)
	}
	all := withoutRepeated(r.Executions)
	shared := usedByMany(all)
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
		if shared[key] {
			key = x.Agent + "/" + key
		}
		out.States[key] = append(out.States[key], list...)
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

// usedByMany names the states that several agents went through.
func usedByMany(all []report.Exec) map[string]bool {
	agent, many := map[string]string{}, map[string]bool{}
	for _, x := range all {
		if first, ok := agent[x.State]; ok && first != x.Agent {
			many[x.State] = true
		}
		agent[x.State] = x.Agent
	}
	return many
}

// answered are the answers to questions, in the order of the questions.
func answered(waits []report.Wait) []Answer {
	waits = slices.DeleteFunc(slices.Clone(waits), func(w report.Wait) bool { return w.For != state.ForAnswer || w.By == "" || w.Answer == "" })
	slices.SortStableFunc(waits, func(a, b report.Wait) int { return a.Number - b.Number })
	var out []Answer
	isOne := true
	for _, w := range waits {
		out = append(out, Answer{Agent: w.Agent, Text: Text(w.Answer)})
		isOne = isOne && w.Agent == waits[0].Agent
	}
	for i := range out {
		if isOne {
			out[i].Agent = ""
		}
	}
	return out
}

// told is an invocation of an execution, as the events tell it.
type told struct {
	at    time.Time
	reply Reply
	// texts says that the invocation brought a message, which the conversation has.
	texts bool
}

// spoken returns what the invocations of an execution brought. The second value is false where
// the last message of one that succeeded is not known. result is its agent's, if it ended here.
func spoken(x report.Exec, result string) (list []Reply, isWhole bool) {
	var all []told
	for _, m := range x.Retries {
		all = append(all, told{at: m.Time, reply: failed(runner.Transient, m.Text)})
	}
	for _, m := range x.Reminders {
		all = append(all, told{at: m.Time, texts: true})
	}
	usd := x.Spent.USD
	for _, a := range x.Attempts {
		all, usd = append(all, verdict(a)), max(0, usd-a.CostUSD)
	}
	slices.SortStableFunc(all, func(a, b told) int { return a.at.Compare(b.at) })
	texts := messages(x.Messages)
	if len(x.Attempts) == 0 {
		all = append(all, ending(x, texts, all))
	}
	for i := len(all) - 1; i >= 0; i-- { // what came last is surely there
		switch n := len(texts); {
		case !all[i].texts:
		case n > 0:
			all[i].reply.Text, texts = Text(texts[n-1]), texts[:n-1]
			isWhole = isWhole || i == len(all)-1
		case i == len(all)-1:
			tag := tagOf(x.Transition, result)
			all[i].reply.Text, isWhole = Text(tag), tag != ""
		case len(all[i].reply.Checks) > 0: // it failed, so that what it would have done next does not count
			all[i].reply.Text = all[len(all)-1].reply.Text
		}
	}
	all[len(all)-1].reply.Cost += Cost(usd)
	for _, t := range all {
		list = append(list, t.reply)
	}
	return list, isWhole || x.Status != report.Completed
}

// ending is the last invocation of an execution without attempts.
func ending(x report.Exec, texts []string, before []told) told {
	refused := 0
	for _, t := range before {
		if t.texts {
			refused++
		}
	}
	if x.Status == report.Completed || len(texts) > refused {
		return told{texts: true}
	}
	return told{reply: failed(runner.Fatal, cmp.Or(x.Error, "not started"))}
}

// verdict is the last invocation of an attempt.
func verdict(a report.Attempt) told {
	t := told{at: a.Ended, texts: true, reply: Reply{Cost: Cost(a.CostUSD)}}
	for _, c := range a.Results {
		t.reply.Checks = append(t.reply.Checks, min(max(c.RC, 0), maxCode))
	}
	if len(a.Results) == 0 && !a.Converged {
		t.texts, t.reply.Error = false, failed(runner.Fatal, cmp.Or(a.Reason, "failed")).Error
	}
	return t
}

func failed(class runner.Class, why string) Reply {
	return Reply{Error: &Error{Class: string(class), Message: Text(why)}}
}

// messages returns the final message of each invocation of a conversation.
func messages(all []runner.Message) []string {
	var out []string
	said, asked := "", false
	for _, m := range all {
		switch {
		case m.Subagent != "":
		case m.From == runner.FromAgent && m.Text != "":
			said = m.Text
		case m.From == runner.FromUser && asked && said != "":
			out, said = append(out, said), ""
		}
		asked = asked || m.From == runner.FromUser
	}
	if said != "" {
		out = append(out, said)
	}
	return out
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
