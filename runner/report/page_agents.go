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

// sections returns a folded section for each agent, those that need attention first,
// in at most room bytes. It also says what it cut, "" for nothing.
func (d *document) sections(room int) (text, cut string) {
	agents := slices.Clone(d.agents)
	if len(agents) == 0 {
		return "", ""
	}
	slices.SortStableFunc(agents, func(a, b *agent) int { return a.rank() - b.rank() })
	const heading, missing = "### Agents\n\n", "%s not shown here.\n\n"
	var b strings.Builder
	b.WriteString(heading)
	room -= len(heading) + len(missing) + len("1000000 agents")
	others := len(d.model.Agents) - len(agents)
	hidden, cutSections := others, 0
	for i, a := range agents {
		share := min(room, max(minSection, room/(len(agents)-i)))
		section, isCut := a.section(share, d.isOnTop(a))
		room -= len(section)
		b.WriteString(section)
		switch {
		case section == "":
			hidden++
		case isCut:
			cutSections++
		}
	}
	if hidden > 0 {
		fmt.Fprintf(&b, missing, count(hidden, "agent"))
	}
	return b.String(), cutWords(cutSections, hidden-others)
}

// cutWords says how many sections a page shortens, and how many it leaves out.
func cutWords(cutSections, hidden int) string {
	var parts []string
	if cutSections > 0 {
		parts = append(parts, "shortens the sections of "+count(cutSections, "agent"))
	}
	if hidden > 0 {
		parts = append(parts, "leaves out "+count(hidden, "agent"))
	}
	return strings.Join(parts, " and ")
}

// isOnTop reports whether the top of the page already has what an agent ended with.
func (d *document) isOnTop(a *agent) bool {
	if a.Status == Failed {
		return len(d.failed()) <= maxExplained
	}
	end := d.model.Ending
	return a.hasResult && end != nil && end.Result != nil && newPassage(a.Result, maxText) == d.runResult()
}

// rank is low for the agents that are shown first.
func (a *agent) rank() int {
	switch a.Status {
	case Failed:
		return 0
	case Running, agentWaits:
		return 1
	}
	return 2
}

// section returns the folded section of an agent in at most room bytes, "" when that is
// too little, and whether it is cut. If isOnTop is true, the top of the page already
// has what the agent ended with.
func (a *agent) section(room int, isOnTop bool) (text string, isCut bool) {
	const end = "</details>\n\n"
	w := &writer{room: room - len(end)}
	w.printf("<details><summary>%s %s, %s, %s</summary>\n\n",
		htmlCode(a.ID), a.statusWords(), count(a.Executions, "state"), a.Spent.Spent)
	if w.room < 0 {
		return "", true
	}
	if a.Parent != "" {
		w.fit(fmt.Sprintf("Forked by %s.\n\n", code(a.Parent, widestName)))
	}
	if !isOnTop {
		a.writeEnd(w)
	}
	if said := strings.Join(a.said.all, "\n"); said != "" {
		writeText(w, "What it said last", newPassage(said, maxText))
	}
	a.tools.writeRefused(w)
	a.verdicts.write(w)
	a.writeIncidents(w)
	a.tools.writeUsed(w)
	w.fit(a.byModel.with(a.open()).String())
	return w.String() + end, w.isCut
}

// statusWords says how an agent is doing, as HTML.
func (a *agent) statusWords() string {
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

// writeEnd writes what an agent ended with, or its last transition.
func (a *agent) writeEnd(w *writer) {
	switch {
	case a.Status == Failed:
		writeText(w, "Why it failed", a.why())
	case a.hasResult && newPassage(a.Result, maxText).isEmpty():
		w.fit("Its result is empty.\n\n")
	case a.hasResult:
		writeText(w, "Its result", newPassage(a.Result, maxText))
	case a.move != nil:
		w.fit(fmt.Sprintf("Its last transition: %s\n\n", code(moveText(a.move), widestMove)))
	}
}

// writeText writes as much of a text as there is room for.
func writeText(w *writer, what string, text passage) {
	w.text(text, func(shown string) string { return fmt.Sprintf("%s:\n\n%s\n", what, fence(wrap(shown))) })
}

// writeRefused writes the refused tool uses, each with the reason and with the rule
// that would allow it.
func (t *toolUses) writeRefused(w *writer) {
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

// firstRefused says which tool use was refused first, what would allow it, and
// whether there are others.
func (t *toolUses) firstRefused() string {
	text := codeSpan(cut(t.refused[0].Use, widestRefused)) + refusedBecause(t.refused[0])
	if more := len(t.refused) - 1 + t.unlisted; more > 0 {
		text += fmt.Sprintf("; and %s, listed below", count(more, "other use"))
	}
	return text
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
func (t *toolUses) writeUsed(w *writer) {
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

// writeIncidents writes an agent's retries, reminders and the like.
func (a *agent) writeIncidents(w *writer) {
	if len(a.incidents.all) == 0 {
		return
	}
	var b strings.Builder
	b.WriteString("On its way:\n\n")
	if before := a.incidents.earlier; before > 0 {
		fmt.Fprintf(&b, "- %d before these\n", before)
	}
	for _, text := range a.incidents.all {
		fmt.Fprintf(&b, "- %s\n", codeSpan(text))
	}
	w.fit(b.String() + "\n")
}

// write writes a table of an agent's attempts, and the output of commands that failed.
func (v *verdicts) write(w *writer) {
	if len(v.all) == 0 {
		return
	}
	var b strings.Builder
	b.WriteString("Attempts, as its commands judged them:\n\n" +
		"| Attempt | State | Duration | Cost | Verdict |\n| ---: | --- | ---: | ---: | --- |\n")
	if v.earlier > 0 {
		fmt.Fprintf(&b, "| … | %s before these | | | |\n", count(v.earlier, "attempt"))
	}
	for _, one := range v.all {
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s |\n", one.attempt, codeSpan(one.state), Seconds(one.durationS), one.cost, one)
	}
	w.fit(b.String() + "\n")
	for _, one := range v.all {
		if one.output != "" {
			w.fit(fmt.Sprintf("Attempt %d in %s, the end of what %s wrote:\n\n%s\n",
				one.attempt, codeSpan(one.state), codeSpan(one.command), fence(one.output)))
		}
	}
}
