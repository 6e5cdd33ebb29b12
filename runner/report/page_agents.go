package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// minSection is the room that the section of an agent has, even if there are so many
// agents that the last ones have no section.
const minSection = 4 << 10

// agents are those whose texts are kept.
func (s *Summary) agents() []*Agent { return s.model.Agents[:min(len(s.model.Agents), maxAgents)] }

// sections returns a folded section for each agent, those that need attention first,
// in at most room bytes, and whether something had to be cut.
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
	hidden, isTold := len(s.model.Agents)-len(agents), len(s.failed()) <= maxExplained
	for i, a := range agents {
		share := min(room, max(minSection, room/(len(agents)-i)))
		w := &writer{room: share}
		section := s.section(a, w, isTold)
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

// rank is low for the agents that are shown first.
func (a *Agent) rank() int {
	switch a.Status {
	case Failed:
		return 0
	case Running, agentWaits:
		return 1
	}
	return 2
}

// section returns the folded section of an agent, "" when there is too little room for one. If isTold is
// true, the top of the page says why agents failed.
func (s *Summary) section(a *Agent, w *writer, isTold bool) string {
	const end = "</details>\n\n"
	w.room -= len(end)
	w.printf("<details><summary>%s %s, %s, %s</summary>\n\n",
		htmlCode(a.ID), a.statusWords(), count(a.Executions, "state"), a.Spent.Spent)
	if w.room < 0 {
		w.isCut = true
		return ""
	}
	if a.Parent != "" {
		w.fit(fmt.Sprintf("Forked by %s.\n\n", code(a.Parent, widestName)))
	}
	if a.Status != Failed || !isTold {
		switch {
		case a.Status == Failed:
			writeText(w, "Why it failed", a.why())
		case a.hasResult && a.ID == firstAgent:
		case a.hasResult && a.Result == "":
			w.fit("Its result is empty.\n\n")
		case a.hasResult:
			writeText(w, "Its result", a.Result)
		case a.move != nil:
			w.fit(fmt.Sprintf("Its last transition: %s\n\n", code(moveText(a.move), widestMove)))
		}
	}
	if said := strings.Join(a.talk.said, "\n"); said != "" {
		writeText(w, "What it said last", said)
	}
	a.talk.writeRefused(w)
	s.writeAttempts(w, a)
	a.talk.writeUsed(w)
	return w.String() + end
}

// statusWords says how an agent is doing, as HTML.
func (a *Agent) statusWords() string {
	switch {
	case a.Status == Failed:
		return "failed in " + htmlCode(a.State)
	case a.hasResult:
		return "ended with a result"
	case a.Status == agentEnded:
		return "ended"
	case a.Status == agentWaits:
		return "waits before " + htmlCode(a.State)
	}
	return "is at " + htmlCode(a.State)
}

// writeText writes as much of a text as there is room for.
func writeText(w *writer, what, text string) {
	w.text(text, maxText, func(shown string) string { return fmt.Sprintf("%s:\n\n%s\n", what, fence(wrap(shown))) })
}

// writeRefused writes the refused tool uses, each with the reason and with the rule
// that would allow it.
func (t *talk) writeRefused(w *writer) {
	if len(t.refused) == 0 {
		return
	}
	var b strings.Builder
	b.WriteString("Refused tool uses, why, and what would allow them:\n\n")
	for _, r := range t.refused {
		fmt.Fprintf(&b, "- %s%s\n", codeSpan(cut(r.Use, widestRefused)), refusedBecause(r))
	}
	if t.unlisted > 0 {
		fmt.Fprintf(&b, "- and %d more\n", t.unlisted)
	}
	w.fit(b.String() + "\n")
}

// refusedBecause says why a use of a tool was refused, and what would allow it.
func refusedBecause(r state.Refusal) string {
	text := ""
	if r.Reason != "" {
		text = ": " + code(strings.TrimRight(r.Reason, "."), 2*widestRefused)
	}
	if setting := remedy(r); setting != "" {
		text += remedyIntro + code(setting, widestSetting)
	}
	return text
}

// writeUsed writes how often tools were used, those that were used most first.
func (t *talk) writeUsed(w *writer) {
	names := slices.SortedFunc(maps.Keys(t.used), func(x, y string) int {
		return cmp.Or(t.used[y]-t.used[x], cmp.Compare(x, y))
	})
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%s %d×", codeSpan(name), t.used[name]))
	}
	if len(parts) > 0 {
		w.fit("Tools used: " + strings.Join(parts, ", ") + "\n\n")
	}
}

// maxAttempts is how many attempts of an agent are listed.
const maxAttempts = 20

// writeAttempts writes a table of an agent's last attempts, and what the command wrote that failed
// in the last one.
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
	w.fit("Attempts, as its commands judged them:\n\n" +
		"| Attempt | State | Duration | Cost | Verdict |\n| ---: | --- | ---: | ---: | --- |\n" + strings.Join(rows, "") + "\n")
	a.last.explain(w, linesOfFailure)
}

// verdict says what came of an attempt, in Markdown.
func (a *Attempt) verdict() string {
	switch {
	case a.Converged && a.Attempt > 1:
		return fmt.Sprintf("done at attempt %d", a.Attempt)
	case a.Converged:
		return "done"
	}
	return prose(a.FailureText(), widestReason)
}
