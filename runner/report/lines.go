package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// line is one line of output for a user. Its texts are untrusted; control characters are removed
// when it is rendered.
type line struct {
	agent, state string
	mark         mark
	figures      string // duration and cost, in raymond's own words
	text         string
	uncut        string // raymond's own words, shown after text and never shortened
	rank         rank
	isOurs       bool // all words are raymond's own, except names
}

// rank is the importance of a line. It determines whether the line is shown in quiet, normal and
// verbose mode.
type rank int

const (
	rankVerbose rank = iota - 1 // only shown in verbose mode
	rankNormal
	rankImportant // failures and the last line; also shown in quiet mode
)

// mark is the word in a line that names the kind of the line, such as "start" or "retry".
type mark string

// The marks of lines about states and agents. The last line of a run has the run's status instead.
const (
	markStart   mark = "start"
	markOK      mark = "ok"
	markFailed  mark = "FAILED"
	markMoves   mark = "moves"
	markRemind  mark = "remind"
	markNote    mark = "note"
	markRetry   mark = "retry"
	markVerdict mark = "verdict"
	markRerun   mark = "rerun"
	markNew     mark = "new"
	markDone    mark = "done"
	markLimit   mark = "limit"
	markGaveUp  mark = "gave up"
	markRefused mark = "refused"
	markSays    mark = "says"
	markStored  mark = "stored"
	markStarted mark = "started"
	markResumed mark = "resumed"
	markWaits   mark = "waits"
	markReady   mark = "ready"
	markRunning mark = "running" // only in the live lines of a terminal
)

// runAgent is shown instead of an agent's name in lines about the run. No agent has this name,
// since agent names start with "main".
const runAgent = "run"

// describe returns the line for an event that can be described without other events. For all other
// events it returns a line without a mark, which is not shown.
func (o ConsoleOptions) describe(e state.Event) line {
	l := line{agent: e.Agent, state: e.State}
	switch b := e.Body.(type) {
	case *state.RunStarted:
		return runStartedLine(b, o.WorkflowID)
	case *state.StateStarted:
		l.mark, l.text = markStart, startText(b, o.Verbose)
	case *state.AgentOutput:
		l.mark, l.text, l.rank = markSays, b.Text, rankVerbose
	case *state.Reminder:
		l.mark, l.text = markRemind, fmt.Sprintf("%d: %s", b.N, b.Reason)
	case *state.Retry:
		l.mark, l.text = markRetry, fmt.Sprintf("%d in %s: ", b.N, formatMillis(b.BackoffMS))
		if b.Service {
			l.text += "the service failed: "
		}
		l.text += b.Error
	case *state.AgentStarted:
		return agentStartedLine(l, b)
	case *state.NodeAttempt:
		l.mark, l.text = markVerdict, verdictText(b)
	case *state.AttemptInterrupted:
		l.mark, l.text = markRerun, fmt.Sprintf("attempt %d was interrupted: %s", b.Attempt, b.Reason)
	case *state.Checkpoint:
		return checkpointLine(b)
	case *state.Limit:
		return limitLine(l, b)
	}
	return l
}

// runStartedLine returns the line for the start of a segment: a new run, or a resume.
func runStartedLine(b *state.RunStarted, workflowID string) line {
	l := line{agent: runAgent, mark: markStarted}
	if b.Resumed {
		l.mark = markResumed
	}
	if workflowID != "" {
		l.figures = plain(workflowID) + ": "
	}
	budget := "no budget"
	if b.BudgetUSD > 0 {
		budget = "budget " + b.BudgetUSD.Dollars()
	}
	l.text = fmt.Sprintf("%s of %s, %s, up to %s at once", b.Entry, b.Scope, budget, count(b.MaxParallel, "agent"))
	return l
}

// sessions contains the texts for the session modes of prompts.
var sessions = map[state.SessionMode]string{
	state.Fresh: "new session", state.Resume: "session resumed", state.Branch: "session branched",
}

// startText describes the start of a state: its kind, session, model, attempt and, if verbose,
// directory.
func startText(b *state.StateStarted, verbose bool) string {
	parts := []string{b.Kind}
	if words, ok := sessions[b.Session]; ok {
		parts = append(parts, words)
	}
	if b.Model != "" {
		parts = append(parts, "model "+b.Model)
	}
	if b.Attempt > 1 {
		parts = append(parts, fmt.Sprintf("attempt %d", b.Attempt))
	}
	if verbose {
		parts = append(parts, dirText(b))
	}
	return strings.Join(parts, ", ")
}

// dirText describes the working directory of a state.
func dirText(b *state.StateStarted) string {
	if b.Cwd == "" {
		return "in an empty folder"
	}
	return "in " + b.Cwd
}

// transitionLine returns the line for a transition that is not part of the line for a state's end.
// Forks are only shown in verbose mode, since each new agent has a line anyway.
func transitionLine(e state.Event, b *state.Transition) line {
	l := line{agent: e.Agent, state: e.State, mark: markMoves, text: transitionText(b)}
	if b.Tag == "fork" {
		l.rank = rankVerbose
	}
	return l
}

// transitionText describes a transition, as in "goto NEXT.md".
func transitionText(b *state.Transition) string {
	switch {
	case b.Tag == "result" && b.Target == "":
		return "result"
	case b.Tag == "result":
		return "result, back to " + b.Target
	case b.Return != "":
		return fmt.Sprintf("%s %s, then %s", b.Tag, b.Target, b.Return)
	case b.Next != "":
		return fmt.Sprintf("%s %s, on to %s", b.Tag, b.Target, b.Next)
	}
	return b.Tag + " " + b.Target
}

// agentStartedLine returns the line for a new agent. The line for the agent main is only shown in
// verbose mode, since the start of the run already has a line.
func agentStartedLine(l line, b *state.AgentStarted) line {
	l.mark, l.text = markNew, "forked by "+b.Parent
	if b.Parent == "" {
		l.text, l.rank = "agent of the run", rankVerbose
	}
	for i, name := range slices.Sorted(maps.Keys(b.Vars)) {
		if i == 0 {
			l.text += " with "
		} else {
			l.text += ", "
		}
		l.text += name + "=" + b.Vars[name]
	}
	return l
}

// verdictText describes the verdict on an attempt, with its duration, cost and failure.
func verdictText(b *state.NodeAttempt) string {
	word := "not done"
	if b.Converged {
		word = "done"
	}
	text := fmt.Sprintf("attempt %d %s after %s, %s", b.Attempt, word, FormatSeconds(b.DurationS), b.Spent)
	if why := b.FailureText(); why != "" {
		text += ": " + why
	}
	return text
}

// checkpointLine returns the line for a checkpoint that was stored or could not be stored.
func checkpointLine(b *state.Checkpoint) line {
	l := line{agent: runAgent, mark: markStored, rank: rankVerbose}
	if b.Error != "" {
		l.mark, l.text, l.rank = markFailed, "checkpoint"+inStore(b)+": "+b.Error, rankImportant
		return l
	}
	l.text = fmt.Sprintf("step %d in store %s, %d KiB in %s", b.SeqStored, b.Store, (b.Bytes+1023)/1024, formatMillis(b.DurationMS))
	return l
}

// inStore returns " in " and the name of the checkpoint's store, or "" if the store is unknown.
func inStore(b *state.Checkpoint) string {
	if b.Store == "" {
		return ""
	}
	return " in " + b.Store
}

// limitLine completes the line l for a limit that was reached or almost reached.
func limitLine(l line, b *state.Limit) line {
	l.agent, l.mark = cmp.Or(l.agent, runAgent), markLimit
	switch b.Which {
	case "budget":
		l.text = fmt.Sprintf("budget: %s of $%.2f spent", b.Spent(), b.Max)
	case state.BudgetPerKey, state.BudgetPerDay:
		l.text = fmt.Sprintf("%s: %s of $%.2f spent in 24 hours", b.Which, b.Spent(), b.Max)
	case "deadline":
		l.text = "the deadline of " + FormatSeconds(b.Max) + " is reached"
		if b.Value >= b.Max+1 {
			l.text += "; running work ended after " + FormatSeconds(b.Value)
		}
	case "usage":
		l.text = "usage limit of the model reached"
	default:
		l.text = fmt.Sprintf("%s: %g, the limit is %g", b.Which, b.Value, b.Max)
	}
	return l
}

// runFinishedLine returns the line for the end of the run. If isExplained is set, earlier lines
// have shown why agents failed, so this line only names the failed agent.
func (m *Model) runFinishedLine(b *state.RunFinished, isExplained bool) line {
	l := line{agent: runAgent, mark: mark(b.Status), rank: rankImportant}
	l.figures = m.costSummary(b) + ", " + count(b.Iterations, "state")
	if b.InheritedUSD > 0 {
		l.figures += ", " + b.InheritedUSD.Dollars() + " inherited"
	}
	if b.FlakeRetries > 0 {
		l.figures += ", " + severalAttempts(b.FlakeRetries)
	}
	if b.Detail == "partial" {
		l.figures += ", other agents completed"
	}
	if b.Reason != "" {
		l.figures += ": "
		l.text = state.WithoutCode(b.Reason)
		if isExplained = isExplained && b.Status == state.Failed; isExplained {
			l.text = failedAgent(b.Reason)
		}
	}
	l.isOurs = l.text == "" || isExplained
	return l
}

// severalAttempts returns a text with the number of states that took more than one attempt.
func severalAttempts(n int) string { return count(n, "state") + " took more than one attempt" }
