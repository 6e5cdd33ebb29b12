package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// minSection is the minimum size of an agent's section in bytes. If the room is too small for all
// agents, the last ones get no section.
const minSection = 4 << 10

// agents returns the agents that the summary shows, at most maxAgents.
func (s *Summary) agents() []*Agent { return s.model.Agents[:min(len(s.model.Agents), maxAgents)] }

// sections returns a folded section for each agent, with a total of at most room bytes. Failed
// agents come first, then active agents. isCut reports whether anything was left out.
func (s *Summary) sections(room int) (text string, isCut bool) {
	agents := slices.Clone(s.agents())
	if len(agents) == 0 {
		return "", false
	}
	slices.SortStableFunc(agents, func(a, b *Agent) int { return a.rank() - b.rank() })
	const heading, missing = "### Agents\n\n", "%s not shown here.\n\n"
	var b strings.Builder
	b.WriteString(heading)
	room -= len(heading) + len(missing) + len("1000000 agents")
	hidden, isExplained := len(s.model.Agents)-len(agents), len(s.failedAgents()) <= maxExplained
	for i, a := range agents {
		share := min(room, max(minSection, room/(len(agents)-i)))
		w := &writer{room: share}
		section := s.section(a, w, isExplained)
		if section == "" {
			hidden++
		}
		room -= len(section)
		isCut = isCut || w.isCut
		b.WriteString(section)
	}
	if hidden > 0 {
		fmt.Fprintf(&b, missing, count(hidden, "agent"))
	}
	return b.String(), isCut
}

// rank returns the place of an agent's section: agents with a lower number are shown first.
func (a *Agent) rank() int {
	switch a.Status {
	case Failed:
		return 0
	case Running, statusWaiting:
		return 1
	}
	return 2
}

// section returns the folded section of an agent, or "" if w has too little room. isExplained is
// set if the top of the summary already explains all failures.
func (s *Summary) section(a *Agent, w *writer, isExplained bool) string {
	const end = "</details>\n\n"
	w.room -= len(end)
	w.printf("<details><summary>%s %s, %s, %s</summary>\n\n",
		htmlCode(a.ID), a.statusWords(), count(a.Executions, "state"), a.Spent.Spent)
	if w.room < 0 {
		w.isCut = true
		return ""
	}
	if a.Parent != "" {
		w.writeIfRoom(fmt.Sprintf("Forked by %s.\n\n", code(a.Parent, widestName)))
	}
	if a.Status != Failed || !isExplained {
		switch {
		case a.Status == Failed:
			writeText(w, "Why it failed", a.reason())
		case a.hasResult && a.ID == firstAgent:
		case a.hasResult && a.Result == "":
			w.writeIfRoom("Its result is empty.\n\n")
		case a.hasResult:
			writeText(w, "Its result", a.Result)
		case a.transition != nil:
			w.writeIfRoom(fmt.Sprintf("Its last transition: %s\n\n", code(transitionText(a.transition), widestTransition)))
		}
	}
	if lines := strings.Join(a.log.lines, "\n"); lines != "" {
		writeText(w, "What it said last", lines)
	}
	a.log.writeRefusals(w)
	s.writeAttempts(w, a)
	a.log.writeToolUses(w)
	return w.String() + end
}

// statusWords returns the status of an agent in words, as HTML.
func (a *Agent) statusWords() string {
	switch {
	case a.Status == Failed:
		return "failed in " + htmlCode(a.State)
	case a.hasResult:
		return "ended with a result"
	case a.Status == statusEnded:
		return "ended"
	case a.Status == statusWaiting:
		return "waits before " + htmlCode(a.State)
	}
	return "is at " + htmlCode(a.State)
}

// writeText writes a text in a fenced code block, shortened to the remaining room.
func writeText(w *writer, what, text string) {
	w.text(text, maxText, func(shown string) string { return fmt.Sprintf("%s:\n\n%s\n", what, fence(wrap(shown))) })
}

// writeRefusals writes the tool calls that were denied, each with the reason and the setting that
// may allow it.
func (t *agentLog) writeRefusals(w *writer) {
	if len(t.refusals) == 0 {
		return
	}
	var b strings.Builder
	b.WriteString("Refused tool uses, why, and what would allow them:\n\n")
	for _, r := range t.refusals {
		fmt.Fprintf(&b, "- %s%s\n", codeSpan(cut(r.Use, widestRefused)), refusalDetails(r))
	}
	if t.unlisted > 0 {
		fmt.Fprintf(&b, "- and %d more\n", t.unlisted)
	}
	w.writeIfRoom(b.String() + "\n")
}

// refusalDetails returns why a tool call was denied, and the setting that may allow it.
func refusalDetails(r state.Refusal) string {
	text := ""
	if r.Reason != "" {
		text = ": " + code(strings.TrimRight(r.Reason, "."), 2*widestRefused)
	}
	if setting := allowSetting(r); setting != "" {
		text += allowIntro + code(setting, widestSetting)
	}
	return text
}

// writeToolUses writes how often each tool was called, with the most used tools first.
func (t *agentLog) writeToolUses(w *writer) {
	names := slices.SortedFunc(maps.Keys(t.toolUses), func(x, y string) int {
		return cmp.Or(t.toolUses[y]-t.toolUses[x], cmp.Compare(x, y))
	})
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%s %d×", codeSpan(name), t.toolUses[name]))
	}
	if len(parts) > 0 {
		w.writeIfRoom("Tools used: " + strings.Join(parts, ", ") + "\n\n")
	}
}

// maxAttempts is the maximum number of attempts in an agent's table.
const maxAttempts = 20

// writeAttempts writes a table of an agent's last attempts, and the output of the command that
// failed in the last attempt.
func (s *Summary) writeAttempts(w *writer, a *Agent) {
	var rows []string
	for _, x := range s.model.Executions {
		for i := range x.Attempts {
			if one := &x.Attempts[i]; x.Agent == a.ID {
				rows = append(rows, fmt.Sprintf("| %d | %s | %s | %s | %s |\n",
					one.Attempt, code(x.State, widestCell), FormatSeconds(one.DurationS), one.Spent, one.verdict()))
			}
		}
	}
	if len(rows) == 0 {
		return
	}
	if earlier := len(rows) - maxAttempts; earlier > 0 {
		rows = slices.Insert(rows[earlier:], 0, fmt.Sprintf("| … | %s before these | | | |\n", count(earlier, "attempt")))
	}
	w.writeIfRoom("Attempts, as judged by the commands:\n\n" +
		"| Attempt | State | Duration | Cost | Verdict |\n| ---: | --- | ---: | ---: | --- |\n" + strings.Join(rows, "") + "\n")
	a.last.writeFailedCommand(w, linesOfFailure)
}

// verdict returns the verdict on an attempt as Markdown.
func (a *Attempt) verdict() string {
	switch {
	case a.Converged && a.Attempt > 1:
		return fmt.Sprintf("done at attempt %d", a.Attempt)
	case a.Converged:
		return "done"
	}
	return prose(a.FailureText(), widestReason)
}
