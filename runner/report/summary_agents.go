package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// section writes the folded part about an agent.
// Its end is left out where the top of the page has it.
func (a *actor) section(b *strings.Builder, d diet, isOnTop bool) {
	fmt.Fprintf(b, "<details><summary>%s %s, %s, %s</summary>\n\n",
		htmlCode(a.id, widestName), a.stands(), count(a.runs, "state"), a.total())
	if a.parent != "" {
		fmt.Fprintf(b, "Forked by %s.\n\n", code(a.parent, widestName))
	}
	if !isOnTop {
		a.end(b, d)
	}
	a.lastWords(b, d)
	a.refusals(b, d)
	a.attempts(b, d)
	a.troubles(b, d)
	a.toolsUsed(b, d)
	b.WriteString(a.bill.with(a.owes).String())
	b.WriteString("</details>\n\n")
}

// stands words where an agent stands, as HTML.
func (a *actor) stands() string {
	switch a.standing {
	case hasFailed:
		return "failed in " + htmlCode(a.state, widestName)
	case hasResult:
		return "ended with a result"
	case hasNoResult:
		return "ended"
	}
	return "is at " + htmlCode(a.state, widestName)
}

// end shows what an agent ended with, or where it went last.
func (a *actor) end(b *strings.Builder, d diet) {
	switch {
	case a.standing == hasFailed:
		a.text(b, "Why it failed", a.fault.within(d.text))
	case a.standing == hasResult && a.result.isEmpty():
		b.WriteString("Its result is empty.\n\n")
	case a.standing == hasResult:
		a.text(b, "Its result", a.result.within(d.text))
	case a.move != "":
		fmt.Fprintf(b, "Its last transition: %s\n\n", codeSpan(a.move))
	}
}

func (a *actor) text(b *strings.Builder, what string, p passage) {
	fmt.Fprintf(b, "%s:\n\n%s\n", what, fence(wrap(p.String())))
}

// lastWords shows the last lines that an agent said, where they are told.
func (a *actor) lastWords(b *strings.Builder, d diet) {
	said := a.said[max(0, len(a.said)-d.lines):]
	if len(said) > 0 {
		a.text(b, "What it said last", keep(strings.Join(said, "\n"), d.text))
	}
}

// refusals lists the refused tool uses, each with why, and with the rule that would
// allow it.
func (a *actor) refusals(b *strings.Builder, d diet) {
	if len(a.refused) == 0 {
		return
	}
	b.WriteString("Refused tool uses, why, and what would allow them:\n\n")
	shown := a.refused[:min(len(a.refused), d.lines)]
	for _, r := range shown {
		fmt.Fprintf(b, "- %s%s\n", codeSpan(cut(r.Use, widestRefused)), refusedBecause(r))
	}
	if more := len(a.refused) - len(shown) + a.unlisted; more > 0 {
		fmt.Fprintf(b, "- and %d more\n", more)
	}
	b.WriteString("\n")
}

// refusedBecause says why a use of a tool was refused, and what would allow it.
func refusedBecause(r state.Refusal) string {
	text := ""
	if r.Reason != "" {
		text = ": " + code(strings.TrimRight(r.Reason, "."), 2*widestRefused)
	}
	if intro, setting := remedy(r); setting != "" {
		text += "; " + intro + code(setting, widestSetting)
	}
	return text
}

// troubles lists what an agent stumbled over.
func (a *actor) troubles(b *strings.Builder, d diet) {
	if len(a.trouble) == 0 {
		return
	}
	b.WriteString("On its way:\n\n")
	shown := a.trouble[max(0, len(a.trouble)-d.lines):]
	if before := a.untold + len(a.trouble) - len(shown); before > 0 {
		fmt.Fprintf(b, "- %d before these\n", before)
	}
	for _, text := range shown {
		fmt.Fprintf(b, "- %s\n", codeSpan(text))
	}
	b.WriteString("\n")
}

// toolsUsed counts the tools, those that were used most first.
func (a *actor) toolsUsed(b *strings.Builder, d diet) {
	if len(a.tools) == 0 {
		return
	}
	names := slices.SortedFunc(maps.Keys(a.tools), func(x, y string) int {
		return cmp.Or(a.tools[y]-a.tools[x], cmp.Compare(x, y))
	})
	var parts []string
	for _, name := range names[:min(len(names), d.lines)] {
		parts = append(parts, fmt.Sprintf("%s %d×", codeSpan(name), a.tools[name]))
	}
	if len(parts) > 0 {
		b.WriteString("Tools used: " + strings.Join(parts, ", ") + "\n\n")
	}
}
