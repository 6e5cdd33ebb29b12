package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// The functions in this file describe facts about a run in words. All outputs use these texts: the
// console and the job log print them, annotations contain them, and the summary adds Markdown. Unless
// a function says otherwise, its text may contain untrusted text, which the outputs make harmless.

// quoteMark stands before and after each quotation in a text with quotations. The text of a quotation
// can't contain it, because plain removes control characters.
const quoteMark = "\x1f"

// quote marks an untrusted text as a quotation, shortened to width columns on one line.
func quote(text string, width int) string { return quoteMark + cut(text, width) + quoteMark }

// withoutQuotes returns a text with quotations as plain text.
func withoutQuotes(text string) string { return strings.ReplaceAll(text, quoteMark, "") }

// refusalText describes a tool call that was denied: the reason, and the setting that may allow the
// call. Everything that raymond has not written is a quotation.
func refusalText(r state.Refusal) string {
	text := quote(r.Use, widestRefused)
	if r.Reason != "" {
		text += ": " + quote(strings.TrimRight(r.Reason, "."), 2*widestRefused)
	}
	if len(r.Allow) > 0 {
		text += "; to allow it (not tried): " + quote("allowed-tools: "+strings.Join(r.Allow, ", "), widestSetting)
	}
	return text
}

// runText describes the workflow of a run and the limits for a segment.
func runText(b *state.RunStarted) string {
	budget := "no budget"
	if b.BudgetUSD > 0 {
		budget = "budget " + b.BudgetUSD.Dollars()
	}
	return fmt.Sprintf("%s of %s, %s, up to %s at once", b.Entry, b.Scope, budget, state.Count(b.MaxParallel, "agent"))
}

// sessions contains the texts for the session modes of prompts.
var sessions = map[state.SessionMode]string{
	state.Fresh: "new session", state.Resume: "session resumed", state.Branch: "session branched",
}

// startText describes the start of a state: its kind, session, model, attempt and, if
// verbose, directory.
func startText(b *state.StateStarted, verbose bool) string {
	text := b.Kind
	if words, ok := sessions[b.Session]; ok {
		text += ", " + words
	}
	if b.Model != "" {
		text += ", model " + b.Model
	}
	if b.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", b.Attempt)
	}
	if verbose {
		text += ", " + dirText(b)
	}
	return text
}

// dirText describes the working directory of a state.
func dirText(b *state.StateStarted) string {
	if b.Cwd == "" {
		return "in an empty folder"
	}
	return "in " + b.Cwd
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

// agentText describes where an agent comes from, and its variables.
func agentText(b *state.AgentStarted) string {
	text := "agent of the run"
	if b.Parent != "" {
		text = "forked by " + b.Parent
	}
	var vars []string
	for _, name := range slices.Sorted(maps.Keys(b.Vars)) {
		vars = append(vars, name+"="+b.Vars[name])
	}
	if len(vars) > 0 {
		text += " with " + strings.Join(vars, ", ")
	}
	return text
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

// Text describes the limit and the value that reached it.
func (l *Limit) Text() string {
	switch l.Which {
	case "budget":
		return fmt.Sprintf("budget: %s of $%.2f spent", l.Spent(), l.Max)
	case state.BudgetPerKey, state.BudgetPerDay:
		return fmt.Sprintf("%s: %s of $%.2f spent in 24 hours", l.Which, l.Spent(), l.Max)
	case "deadline":
		text := "the deadline of " + FormatSeconds(l.Max) + " is reached"
		if l.Value >= l.Max+1 {
			text += "; running work ended after " + FormatSeconds(l.Value)
		}
		return text
	case "usage":
		return "usage limit of the model reached"
	}
	return fmt.Sprintf("%s: %g, the limit is %g", l.Which, l.Value, l.Max)
}

// withBudget formats a cost. If the run has a budget, the text also contains the budget.
func (m *Model) withBudget(spent state.Spent) string {
	if m.Opening == nil || m.Opening.BudgetUSD <= 0 {
		return spent.String()
	}
	return spent.String() + " of " + m.Opening.BudgetUSD.Dollars()
}

// costSummary formats the duration of the last segment and the cost of the run.
func (m *Model) costSummary(b *state.RunFinished) string {
	return "in " + formatMillis(b.DurationMS) + ", " + m.withBudget(b.Spent)
}

// durationText formats the duration of the last segment and, if there are several segments, their
// total duration.
func (m *Model) durationText() string {
	var part, all time.Duration
	for _, p := range m.Segments {
		if part = time.Duration(p.DurationMS) * time.Millisecond; p.Status == "" {
			part = m.Now.Sub(p.Started)
		}
		all += part
	}
	text := FormatDuration(part)
	if len(m.Segments) > 1 {
		text += fmt.Sprintf(" (%s in %d segments)", FormatDuration(all), len(m.Segments))
	}
	return text
}

// endTexts returns texts about what was unusual in a run that has stopped.
func endTexts(b *state.RunFinished) (texts []string) {
	if b.FlakeRetries > 0 {
		texts = append(texts, state.Count(b.FlakeRetries, "state")+" took more than one attempt")
	}
	if b.Detail == "partial" {
		texts = append(texts, "other agents completed")
	}
	return texts
}

// failedAgent shortens the reason for a failed run to the agent and its state, because the reason
// for the agent's failure was already shown.
func failedAgent(reason string) string {
	who, _, ok := strings.Cut(reason, ": ")
	if !ok || !strings.HasPrefix(who, "agent ") {
		return reason
	}
	return who
}

// failedOutput returns the ends of the outputs of the commands that failed in an attempt. It leaves
// out further commands when it has collected maxText bytes.
func failedOutput(b *state.NodeAttempt) string {
	text := ""
	for _, r := range b.Results {
		if r.RC != 0 && len(text) < maxText {
			text += r.Tail
		}
	}
	return text
}

// Text describes the reason of a wait, as in "until 2026-01-02 03:04:05 UTC". For an answer, the
// text includes the question and the choices.
func (w *Wait) Text() string {
	text := w.Reason()
	if w.For != state.ForAnswer {
		return text
	}
	var limits []string
	if len(w.Choices) > 0 {
		limits = append(limits, strings.Join(w.Choices, ", "))
	}
	if until := w.untilText(); until != "" {
		limits = append(limits, "until "+until+", then "+w.TimeoutNext)
	}
	if len(limits) > 0 {
		text += " (" + strings.Join(limits, "; ") + ")"
	}
	return text + ": " + w.Question
}

// CommentTarget names the issue or pull request on which a question must be answered, as the words
// after "comment".
func (c JobContext) CommentTarget(question Wait) string {
	number, kind := cmp.Or(question.Where, c.Number), "issue or pull request"
	if number <= 0 {
		return "where it is asked"
	}
	if number == c.Number {
		kind = cmp.Or(c.Kind, kind)
	}
	return fmt.Sprintf("on %s %d", kind, number)
}

// waitEndText describes how a wait ended. by is what ended the wait, or who answered the question.
func waitEndText(w *Wait, by string) string {
	switch w.For {
	case state.ForTime:
		return "the time is reached"
	case state.ForAgents:
		return "the agents that it forked have ended"
	case state.ForJob:
		return "running in job " + by
	case state.ForAnswer:
		ends := map[string]string{"timeout": "timed out without an answer", "cli": "was answered on the command line"}
		return fmt.Sprintf("question %d %s", w.Number, cmp.Or(ends[by], "was answered by "+by))
	}
	return "the wait is over: " + by
}

// FirstOf returns the first n parts and, if there are more, a text such as "3 more" after them.
func FirstOf(parts []string, n int) []string {
	if more := len(parts) - n; more > 0 {
		return append(parts[:n:n], fmt.Sprintf("%d more", more))
	}
	return parts
}

// JoinWords joins parts with commas, and the last two parts with a word, as in "a, b or c".
func JoinWords(parts []string, word string) string {
	last := len(parts) - 1
	if last < 1 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:last], ", ") + " " + word + " " + parts[last]
}

// FormatMinute formats a time for users. It uses UTC, since readers may be in any time zone.
func FormatMinute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// FormatDuration formats a duration, as in "1.2s", "3m04s" and "1h02m".
func FormatDuration(d time.Duration) string {
	if tenths := d.Round(time.Second / 10); tenths < time.Minute {
		return fmt.Sprintf("%.1fs", max(0, tenths).Seconds())
	}
	return formatClock(d.Round(time.Second))
}

// formatClock formats a duration in whole seconds, as in "12s", "3m04s" and "1h02m".
func formatClock(d time.Duration) string {
	s := int64(max(0, d) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
}

// formatMillis formats a duration in milliseconds like FormatDuration.
func formatMillis(ms int64) string { return FormatDuration(time.Duration(ms) * time.Millisecond) }

// FormatSeconds formats a duration in seconds like FormatDuration.
func FormatSeconds(s float64) string { return FormatDuration(secondsOf(s)) }

// secondsOf converts seconds to a duration.
func secondsOf(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// inStore returns " in " and the name of the checkpoint's store, or "" if the store is unknown.
func inStore(b *state.Checkpoint) string {
	if b.Store == "" {
		return ""
	}
	return " in " + b.Store
}
