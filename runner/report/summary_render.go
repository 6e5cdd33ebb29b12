package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner/diagram"
	"github.com/raymond-action/raymond-action/state"
)

const (
	// maxMarkdown is the maximum size of a summary in bytes. GitHub does not show a summary of more
	// than 1 MiB.
	maxMarkdown = 1_000_000 - 1
	maxCutNote  = 300 // bytes that are reserved for the note that something was cut

	widestTitle    = 150
	widestReason   = 1000
	widestNote     = 500
	maxNotes       = 30
	maxDifferences = 5 // differences that are shown at most
)

// render returns the whole summary, with the most important facts first. The agents' sections and
// the long texts at the top share the room that the other parts leave.
func (s *Summary) render() string {
	table, path, notes := s.table(), s.diagramSection(), s.noteLines()
	top := &writer{room: maxMarkdown - maxCutNote - len(table) - len(path) - len(footer(notes))}
	s.writeTop(top)
	sections, isCut := s.sections(top.room)
	if top.isCut || isCut {
		notes = append(notes, "To stay below GitHub's limit for summaries, this page leaves out parts of long texts. The run's event log has the rest")
	}
	return top.String() + path + table + sections + footer(notes)
}

// writeTop writes the most important facts, which are the same in the summary and the overview.
func (s *Summary) writeTop(w *writer) {
	s.writeHeadline(w)
	for _, text := range s.o.Differences[:min(len(s.o.Differences), maxDifferences)] {
		w.write(prose(text, widestNote) + "\n\n")
	}
	s.writeWaits(w)
	s.writeActive(w)
	s.writeFailures(w)
	s.writeStopped(w)
	s.writeNext(w)
	w.write(LinkText(s.o.Report, s.o.Site))
	s.writeResult(w)
}

const (
	// maxOverview is the maximum size of an overview in bytes. GitHub accepts comments of up to
	// 65,536 characters.
	maxOverview = 8<<10 - 1
	longestText = 1 << 10 // bytes of a text in an overview
)

// statusWords maps each status of a run to the start of the headline.
var statusWords = map[state.Status]string{
	state.Completed: "✅ Completed", state.Failed: "❌ Failed",
	state.OverBudget: "⛔ Over budget", state.OverIterations: "⛔ Over the limit of iterations",
	state.Suspended: "⏸️ Suspended", state.Cancelled: "⏹️ Cancelled",
}

// writeHeadline writes the headline and a line with the cost and other figures.
func (s *Summary) writeHeadline(w *writer) {
	status := "⏳ Running"
	if end := s.model.Ending; end != nil {
		status = statusWords[end.Status]
	}
	switch {
	case s.o.Skipped:
		status = "⏭️ Skipped"
	case s.stepError != "":
		status = "❌ Error"
	}
	w.printf("## %s: %s\n\n", status, code(cmp.Or(s.o.Title, s.o.WorkflowID), widestTitle))
	if s.model.Opening != nil || s.model.Ending != nil {
		w.write(s.figuresLine() + "\n\n")
	}
}

// figuresLine returns the line below the headline: the cost of the run, its duration, and the
// numbers of states and agents.
func (s *Summary) figuresLine() string {
	m, spent := s.model, s.model.total()
	parts := []string{"**" + m.withBudget(spent) + "**"}
	if m.Opening != nil && m.Opening.BudgetUSD > 0 {
		parts[0] += fmt.Sprintf(" (%d %%)", int64(float64(spent.USD)/float64(m.Opening.BudgetUSD)*100))
	}
	iterations := m.ExecutionCount
	if m.Ending != nil {
		iterations = m.Ending.Iterations
	}
	if m.Opening != nil && m.Opening.InheritedUSD > 0 {
		parts = append(parts, m.Opening.InheritedUSD.Dollars()+" inherited")
	}
	parts = append(parts, m.durationText(), count(iterations, "state"), count(len(m.Agents), "agent"))
	if m.Ending == nil {
		return strings.Join(append(parts, "as of "+utcTime(m.Now)), " · ")
	}
	if n := m.Ending.FlakeRetries; n > 0 {
		parts = append(parts, severalAttempts(n))
	}
	if m.Ending.Detail == "partial" {
		parts = append(parts, "other agents completed")
	}
	return strings.Join(parts, " · ")
}

// utcTime formats a time of day in UTC, since readers may be in any time zone.
func utcTime(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

// durationText returns the duration of the last segment and, if there are several segments, their
// total duration.
func (m *Model) durationText() string {
	var part, all time.Duration
	for _, p := range m.Segments {
		if part = millisOf(p.DurationMS); p.Status == "" {
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

// writeResult writes the result of the run. If the result is long, only its first lines are
// visible, and the complete result follows in a folded section.
func (s *Summary) writeResult(w *writer) {
	end := s.model.Ending
	if end == nil || end.Result == nil {
		return
	}
	result := strings.TrimSpace(shortenMiddle(string(*end.Result), maxResult))
	links := linker(s.o.Site)
	switch found := links.find(result); {
	case result == "":
		w.write("The result is empty.\n\n")
	case len(found) == 1 && found[0][0] == 0 && found[0][1] == len(result): // the result is a single link
		w.write("**Result**: " + linkWithHost(result) + "\n\n")
	default:
		excerpt{what: "**Result**", text: string(*end.Result), lines: linesOfResult, fromTop: true, isProse: true}.write(w)
		if w.short == 0 || w.short > longestLink {
			w.write(links.linksLine(result))
		}
	}
}

// writeNext writes how to continue the run.
func (s *Summary) writeNext(w *writer) {
	if s.o.Next == "" {
		return
	}
	if s.model.Ending != nil || s.stepError != "" {
		w.write("**Next:** ")
	}
	w.write(prose(s.o.Next, w.limit(widestReason)) + "\n\n")
}

// LinkText returns a Markdown paragraph with a link to a report. It returns "" if l has no name. If
// the URL does not start with site, the paragraph contains only the name.
func LinkText(l Link, site string) string {
	if l.Name == "" {
		return ""
	}
	name := code(l.Name, widestNote)
	if site != "" && strings.HasPrefix(l.URL, site) && !strings.ContainsAny(l.URL, " ()<>") {
		name = "[" + name + "](" + l.URL + ")"
	}
	return "**Report:** " + name + "\n\n"
}

// maxNamed is the maximum number of agents in one line of the summary, such as the line with active
// agents.
const maxNamed = 5

// writeActive writes which agents are in which states, and for how long.
func (s *Summary) writeActive(w *writer) {
	if s.model.Ending != nil || s.stepError != "" {
		return
	}
	var parts []string
	for _, x := range s.model.openExecs() {
		if x.isActive() {
			since := FormatDuration(s.model.Now.Sub(x.Started))
			parts = append(parts, fmt.Sprintf("%s in %s for %s", code(x.Agent, widestName), code(x.State, widestName), since))
		}
	}
	writeNamed(w, "At work", parts)
}

// writeStopped writes in which states the agents of a stopped run are. It leaves out failed agents,
// which are listed elsewhere.
func (s *Summary) writeStopped(w *writer) {
	end := s.model.Ending
	if end == nil || end.Status == state.Completed || end.Status == state.Failed {
		return
	}
	var parts []string
	for _, a := range s.agents() {
		if a.Status == Running {
			parts = append(parts, fmt.Sprintf("%s at %s", code(a.ID, widestName), code(a.State, widestName)))
		}
	}
	writeNamed(w, "Stopped", parts)
}

// writeNamed writes a line with the first maxNamed parts and the number of the others. It writes nothing if
// parts is empty.
func writeNamed(w *writer, what string, parts []string) {
	if len(parts) > 0 {
		w.write(what + ": " + strings.Join(FirstOf(parts, maxNamed), ", ") + "\n\n")
	}
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

// diagramSection returns a section with the diagram of the run's path. It returns "" without a
// workflow, and before the first state has started.
func (s *Summary) diagramSection() string {
	if s.model.ExecutionCount == 0 || s.o.Workflow == nil {
		return ""
	}
	// The diagram must not be inside a <details> element: hidden elements have no size, so Mermaid
	// would draw an empty diagram.
	return "### Path\n\n```mermaid\n" + diagram.Draw(s.o.Workflow, s.model.Path()) + "```\n\n"
}

// noteLines returns the lines at the end of the summary, such as the agent CLI and the last
// checkpoint.
func (s *Summary) noteLines() []string {
	var lines []string
	if s.o.WorkflowID != "" {
		lines = append(lines, "Workflow id "+code(s.o.WorkflowID, widestTitle))
	}
	if s.model.CLI != "" {
		lines = append(lines, "Agent CLI: "+code(s.model.CLI, widestNote))
	}
	if b := s.model.Stored; b != nil {
		lines = append(lines, fmt.Sprintf("Last checkpoint: step %d, %d KiB, stored %s in %s",
			b.SeqStored, (b.Bytes+1023)/1024, utcTime(s.model.StoredAt), code(b.Store, widestName)))
	}
	if s.model.NotStored != nil {
		which := "A checkpoint"
		if s.model.Stored != nil {
			which = "A later checkpoint"
		}
		lines = append(lines, which+" could not be stored: "+code(cutMiddle(s.model.NotStored.Error, widestNote), widestNote))
	}
	for _, note := range FirstOf(s.o.Notes, maxNotes) {
		lines = append(lines, prose(note, widestNote))
	}
	return lines
}

// footer returns the end of the summary: the notes as a list, or "" if notes is empty.
func footer(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	return "---\n\n- " + strings.Join(notes, "\n- ") + "\n"
}
