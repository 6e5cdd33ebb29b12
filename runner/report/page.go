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
	// maxMarkdown is how long a summary may be. GitHub shows nothing of one of more
	// than a mebibyte.
	maxMarkdown = 1_000_000 - 1
	maxCutNote  = 300 // of that, for the line on what was cut

	widestTitle    = 150
	widestReason   = 1000
	widestNote     = 500
	maxNotes       = 30
	maxDifferences = 5 // differences that are told
)

// page returns the summary: first what a reader must know, then what a reader may look
// up. The sections of agents, and long texts at the top, share the room that all else
// leaves.
func (s *Summary) page() string {
	table, path, notes := s.table(), s.drawing(), s.notes()
	top := &writer{room: maxMarkdown - maxCutNote - len(table) - len(path) - len(footer(notes))}
	s.top(top)
	sections, isCut := s.sections(top.room)
	if top.isCut || isCut {
		notes = append(notes, "To stay below GitHub's limit for summaries, this page leaves out parts of long texts. The run's event log has the rest")
	}
	return top.String() + path + table + sections + footer(notes)
}

// top writes what page and overview begin with: what a reader must know.
func (s *Summary) top(w *writer) {
	s.headline(w)
	for _, text := range s.o.Differences[:min(len(s.o.Differences), maxDifferences)] {
		w.write(prose(text, widestNote) + "\n\n")
	}
	s.writeWaits(w)
	s.atWork(w)
	s.failures(w)
	s.stopped(w)
	s.next(w)
	w.write(LinkText(s.o.Report, s.o.Site))
	s.result(w)
}

const (
	// maxOverview is how long the overview may be, in bytes. GitHub accepts comments
	// of up to 65,536 characters.
	maxOverview = 8<<10 - 1
	longestText = 1 << 10 // in an overview
)

// statusWords are how the headline shows the status of a run.
var statusWords = map[state.Status]string{
	state.Completed: "✅ Completed", state.Failed: "❌ Failed",
	state.OverBudget: "⛔ Over budget", state.OverIterations: "⛔ Over the limit of iterations",
	state.Suspended: "⏸️ Suspended", state.Cancelled: "⏹️ Cancelled",
}

// headline writes the words that page and comment begin with.
func (s *Summary) headline(w *writer) {
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
		w.write(s.figures() + "\n\n")
	}
}

// figures are the line below the headline.
func (s *Summary) figures() string {
	m, spent := s.model, s.model.total()
	parts := []string{"**" + m.ofBudget(spent) + "**"}
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
	parts = append(parts, m.duration(), count(iterations, "state"), count(len(m.Agents), "agent"))
	if m.Ending == nil {
		return strings.Join(append(parts, "as of "+clockTime(m.Now)), " · ")
	}
	if n := m.Ending.FlakeRetries; n > 0 {
		parts = append(parts, severalAttempts(n))
	}
	if m.Ending.Detail == "partial" {
		parts = append(parts, "other agents ended well")
	}
	return strings.Join(parts, " · ")
}

// clockTime returns the time of day in UTC, since readers may be anywhere.
func clockTime(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

// duration says how long this part of the run took, and how long all parts took.
func (m *Model) duration() string {
	var part, all time.Duration
	for _, p := range m.Segments {
		if part = millisOf(p.DurationMS); p.Status == "" {
			part = m.Now.Sub(p.Started)
		}
		all += part
	}
	text := FormatDuration(part)
	if len(m.Segments) > 1 {
		text += fmt.Sprintf(" (%s in %d parts)", FormatDuration(all), len(m.Segments))
	}
	return text
}

// result writes the result of the run. Of a long one it writes the first lines, and
// folded all of it.
func (s *Summary) result(w *writer) {
	end := s.model.Ending
	if end == nil || end.Result == nil {
		return
	}
	result := strings.TrimSpace(middleOut(string(*end.Result), maxResult))
	links := linker(s.o.Site)
	switch found := links.find(result); {
	case result == "":
		w.write("The result is empty.\n\n")
	case len(found) == 1 && found[0][0] == 0 && found[0][1] == len(result): // it is nothing but a link
		w.write("**Result**: " + shownLink(result) + "\n\n")
	default:
		excerpt{what: "**Result**", text: string(*end.Result), lines: linesOfResult, fromTop: true, isProse: true}.write(w)
		if w.short == 0 || w.short > longestLink {
			w.write(links.list(result))
		}
	}
}

// next writes what can be done next.
func (s *Summary) next(w *writer) {
	if s.o.Next == "" {
		return
	}
	if s.model.Ending != nil || s.stepError != "" {
		w.write("**Next:** ")
	}
	w.write(prose(s.o.Next, w.most(widestReason)) + "\n\n")
}

// LinkText is a paragraph of Markdown that leads to a report, "" for none. It has a link only
// where its address lies below site.
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

// maxNamed is how many agents are named that are at work, or where the run
// stopped.
const maxNamed = 5

// atWork writes which states the agents are working on, as of the last event.
func (s *Summary) atWork(w *writer) {
	if s.model.Ending != nil || s.stepError != "" {
		return
	}
	var parts []string
	for _, x := range s.model.open() {
		if x.isActive() {
			since := FormatDuration(s.model.Now.Sub(x.Started))
			parts = append(parts, fmt.Sprintf("%s in %s for %s", code(x.Agent, widestName), code(x.State, widestName), since))
		}
	}
	writeNamed(w, "At work", parts)
}

// stopped writes where the agents of a run are that may be resumed. Agents that failed
// are named elsewhere.
func (s *Summary) stopped(w *writer) {
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

// writeNamed writes the first of many parts, and how many more there are.
func writeNamed(w *writer, what string, parts []string) {
	if len(parts) > 0 {
		w.write(what + ": " + strings.Join(FirstOf(parts, maxNamed), ", ") + "\n\n")
	}
}

// FirstOf returns the first n of many parts, and how many more there are.
func FirstOf(parts []string, n int) []string {
	if more := len(parts) - n; more > 0 {
		return append(parts[:n:n], fmt.Sprintf("%d more", more))
	}
	return parts
}

// JoinWords joins parts, as in "a, b or c".
func JoinWords(parts []string, word string) string {
	last := len(parts) - 1
	if last < 1 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:last], ", ") + " " + word + " " + parts[last]
}

// drawing returns the path that the run took, "" when there is none.
func (s *Summary) drawing() string {
	if s.model.ExecutionCount == 0 || s.o.Workflow == nil {
		return ""
	}
	// It is not in a <details> element: a browser gives hidden elements no size, and
	// Mermaid would draw a diagram of size zero.
	return "### Path\n\n```mermaid\n" + diagram.Draw(s.o.Workflow, s.model.Path()) + "```\n\n"
}

// notes are further facts, such as where the run is stored.
func (s *Summary) notes() []string {
	var lines []string
	if s.o.WorkflowID != "" {
		lines = append(lines, "Workflow id "+code(s.o.WorkflowID, widestTitle))
	}
	if s.model.CLI != "" {
		lines = append(lines, "Agent CLI: "+code(s.model.CLI, widestNote))
	}
	if b := s.model.Stored; b != nil {
		lines = append(lines, fmt.Sprintf("Last checkpoint: step %d, %d KiB, stored %s in %s",
			b.SeqStored, (b.Bytes+1023)/1024, clockTime(s.model.StoredAt), code(b.Store, widestName)))
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

// footer returns the end of a page.
func footer(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	return "---\n\n- " + strings.Join(notes, "\n- ") + "\n"
}
