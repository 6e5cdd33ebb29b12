package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// line is one line for a person. Its texts are untrusted; rendering removes control characters from
// them.
type line struct {
	agent, state string
	mark         mark
	figures      string // duration and cost, raymond's own text
	text         string
	uncut        string // raymond's own text, shown after text without shortening
	rank         rank
	isOurs       bool // only names are from other sources
}

// rank is the importance of a line.
type rank int

const (
	rankVerbose rank = iota - 1 // shown in verbose mode
	rankNormal
	rankImportant // failures and the last line, shown in quiet mode too
)

// mark is the word that shows the kind of a line.
type mark string

// The marks of states and agents. The last line of a run has the run's status as its mark.
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
	markRunning mark = "running" // in live lines only
)

// runAgent is shown in place of the agent in lines about the run. No agent has this name, since
// their names start with "main".
const runAgent = "run"

// describe returns the line for an event that can be shown without knowing other events. The zero
// line is not shown.
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

// runStartedLine returns the line for the start of a segment.
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

// sessions are the texts for the session modes of prompts.
var sessions = map[state.SessionMode]string{
	state.Fresh: "new session", state.Resume: "session resumed", state.Branch: "session branched",
}

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

// transitionLine returns the line for a transition that does not directly follow the end of a
// state. Forks are shown only in verbose mode, since each new agent has its own line.
func transitionLine(e state.Event, b *state.Transition) line {
	l := line{agent: e.Agent, state: e.State, mark: markMoves, text: transitionText(b)}
	if b.Tag == "fork" {
		l.rank = rankVerbose
	}
	return l
}

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

// agentStartedLine returns the line for a new agent. It is not shown for the agent main, because
// the first line of the run is enough.
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

// checkpointLine returns the line for a checkpoint, whether stored or not.
func checkpointLine(b *state.Checkpoint) line {
	l := line{agent: runAgent, mark: markStored, rank: rankVerbose}
	if b.Error != "" {
		l.mark, l.text, l.rank = markFailed, "checkpoint"+inStore(b)+": "+b.Error, rankImportant
		return l
	}
	l.text = fmt.Sprintf("step %d in store %s, %d KiB in %s", b.SeqStored, b.Store, (b.Bytes+1023)/1024, formatMillis(b.DurationMS))
	return l
}

// inStore names the store of a checkpoint, if it is known.
func inStore(b *state.Checkpoint) string {
	if b.Store == "" {
		return ""
	}
	return " in " + b.Store
}

// limitLine returns the line for a limit that was reached or nearly reached.
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

// runFinishedLine returns the line for the end of the run. If isExplained is true, earlier lines
// have shown why agents failed.
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

// severalAttempts returns a text about the number of states that needed more than one attempt.
func severalAttempts(n int) string { return count(n, "state") + " took more than one attempt" }
