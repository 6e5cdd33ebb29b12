package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// line is one line for a person. Others may have written its texts: rendering makes
// them plain.
type line struct {
	agent, state string
	mark         mark
	figures      string // our own words: duration and cost
	text         string
	uncut        string // our own words, shown whole after the text
	rank         rank
	isOurs       bool // others chose only names in it
}

// rank says how much a line matters.
type rank int

const (
	extra rank = iota - 1 // for verbose readers
	usual
	vital // failures and the last line
)

// mark is the word that says what kind of line it is.
type mark string

// The marks of states and agents. The last line of a run has its status.
const (
	began    mark = "start"
	fine     mark = "ok"
	failed   mark = "FAILED"
	moves    mark = "moves"
	reminded mark = "remind"
	noted    mark = "note"
	retried  mark = "retry"
	judged   mark = "verdict"
	rerun    mark = "rerun"
	created  mark = "new"
	done     mark = "done"
	limited  mark = "limit"
	gaveUp   mark = "gave up"
	refused  mark = "refused"
	says     mark = "says"
	stored   mark = "stored"
	opened   mark = "started"
	resumed  mark = "resumed"
	waiting  mark = "waits"
	ready    mark = "ready"
	running  mark = "running" // live lines only
)

// runAgent is in the agent's column of lines about the run. No agent has this name:
// they begin with main.
const runAgent = "run"

// describe returns the line of an event that can be shown without any other event. The
// zero line means that there is nothing to show.
func (o ConsoleOptions) describe(e state.Event) line {
	l := line{agent: e.Agent, state: e.State}
	switch b := e.Body.(type) {
	case *state.RunStarted:
		return openLine(b, o.WorkflowID)
	case *state.StateStarted:
		l.mark, l.text = began, startText(b, o.Verbose)
	case *state.AgentOutput:
		l.mark, l.text, l.rank = says, b.Text, extra
	case *state.Reminder:
		l.mark, l.text = reminded, fmt.Sprintf("%d: %s", b.N, b.Reason)
	case *state.Retry:
		l.mark, l.text = retried, fmt.Sprintf("%d in %s: ", b.N, millis(b.BackoffMS))
		if b.Service {
			l.text += "the service failed: "
		}
		l.text += b.Error
	case *state.AgentStarted:
		return agentLine(l, b)
	case *state.NodeAttempt:
		l.mark, l.text = judged, verdictText(b)
	case *state.AttemptInterrupted:
		l.mark, l.text = rerun, fmt.Sprintf("attempt %d was interrupted: %s", b.Attempt, b.Reason)
	case *state.Checkpoint:
		return checkpointLine(b)
	case *state.Limit:
		return limitLine(l, b)
	}
	return l
}

func openLine(b *state.RunStarted, workflowID string) line {
	l := line{agent: runAgent, mark: opened}
	if b.Resumed {
		l.mark = resumed
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

// sessions are the words for a prompt's session.
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
		parts = append(parts, folder(b))
	}
	return strings.Join(parts, ", ")
}

// folder says where a state works.
func folder(b *state.StateStarted) string {
	if b.Cwd == "" {
		return "in an empty folder"
	}
	return "in " + b.Cwd
}

// moveLine is for a transition that does not follow the end of a state. Forks are only
// for verbose readers: every new agent has a line of its own.
func moveLine(e state.Event, b *state.Transition) line {
	l := line{agent: e.Agent, state: e.State, mark: moves, text: moveText(b)}
	if b.Tag == "fork" {
		l.rank = extra
	}
	return l
}

func moveText(b *state.Transition) string {
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

// agentLine is for forked agents. The first line of the run stands for the agent main.
func agentLine(l line, b *state.AgentStarted) line {
	l.mark, l.text = created, "forked by "+b.Parent
	if b.Parent == "" {
		l.text, l.rank = "agent of the run", extra
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

func checkpointLine(b *state.Checkpoint) line {
	l := line{agent: runAgent, mark: stored, rank: extra}
	if b.Error != "" {
		l.mark, l.text, l.rank = failed, "checkpoint"+inStore(b)+": "+b.Error, vital
		return l
	}
	l.text = fmt.Sprintf("step %d in store %s, %d KiB in %s", b.SeqStored, b.Store, (b.Bytes+1023)/1024, millis(b.DurationMS))
	return l
}

// inStore says where a checkpoint was to be stored, if that is known.
func inStore(b *state.Checkpoint) string {
	if b.Store == "" {
		return ""
	}
	return " in " + b.Store
}

func limitLine(l line, b *state.Limit) line {
	l.agent, l.mark = cmp.Or(l.agent, runAgent), limited
	switch b.Which {
	case "budget":
		l.text = fmt.Sprintf("budget: %s of $%.2f spent", b.Spent(), b.Max)
	case state.BudgetPerKey, state.BudgetPerDay:
		l.text = fmt.Sprintf("%s: %s of $%.2f spent in 24 hours", b.Which, b.Spent(), b.Max)
	case "deadline":
		l.text = "the deadline of " + FormatSeconds(b.Max) + " is reached"
		if b.Value >= b.Max+1 {
			l.text += "; what was under way ended after " + FormatSeconds(b.Value)
		}
	case "usage":
		l.text = "usage limit of the model reached"
	default:
		l.text = fmt.Sprintf("%s: %g, the most is %g", b.Which, b.Value, b.Max)
	}
	return l
}

// lastLine says how the run ended. If told is true, lines before have said why agents failed.
func (m *Model) lastLine(b *state.RunFinished, told bool) line {
	l := line{agent: runAgent, mark: mark(b.Status), rank: vital}
	l.figures = m.took(b) + ", " + count(b.Iterations, "state")
	if b.InheritedUSD > 0 {
		l.figures += ", " + b.InheritedUSD.Dollars() + " inherited"
	}
	if b.FlakeRetries > 0 {
		l.figures += ", " + severalAttempts(b.FlakeRetries)
	}
	if b.Detail == "partial" {
		l.figures += ", other agents ended well"
	}
	if b.Reason != "" {
		l.figures += ": "
		l.text = state.WithoutCode(b.Reason)
		if told = told && b.Status == state.Failed; told {
			l.text = failedAgent(b.Reason)
		}
	}
	l.isOurs = l.text == "" || told
	return l
}

// severalAttempts says how many states needed more than one attempt.
func severalAttempts(n int) string { return count(n, "state") + " took more than one attempt" }
