package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner/diagram"
	"github.com/raymond-action/raymond-action/state"
)

const (
	widestTitle  = 150
	widestReason = 1000
	widestNote   = 500
	mostNotes    = 30
	mostDiagram  = 60_000 // bytes; GitHub draws none of more than 50,000 characters
)

// compose writes the summary, as much of it as the diet allows: what a person
// must know first, then what he may look up.
func (s *Summary) compose(d diet) string {
	var b strings.Builder
	s.headline(&b)
	s.differences(&b)
	s.whyNot(&b, d)
	s.standstill(&b)
	s.goOn(&b, widestReason)
	s.outcome(&b, d)
	if d.diagram {
		s.drawPath(&b)
	}
	s.table(&b, d)
	s.sections(&b, d)
	s.footer(&b, d)
	return b.String()
}

// faces are how the headline shows the status of a run.
var faces = map[state.Status]string{
	state.Completed: "✅ Completed", state.Failed: "❌ Failed",
	state.OverBudget: "⛔ Over budget", state.OverIterations: "⛔ Over the limit of iterations",
	state.Suspended: "⏸️ Suspended", state.Cancelled: "⏹️ Cancelled",
}

// headline has the words that summary and comment begin with.
func (s *Summary) headline(b *strings.Builder) {
	face := "⏳ Running"
	if end := s.tale.ending; end != nil {
		known := false
		if face, known = faces[end.Status]; !known {
			face = code(string(end.Status), widestName)
		}
	}
	if s.fault != "" {
		face = "❌ Error"
	}
	title := s.o.Title
	if title == "" {
		title = s.o.WorkflowID
	}
	fmt.Fprintf(b, "## %s: %s\n\n", face, code(title, widestTitle))
	if s.tale.opening != nil || s.tale.ending != nil {
		b.WriteString(s.figures() + "\n\n")
	}
}

// figures is the line below the headline.
func (s *Summary) figures() string {
	t := &s.tale
	parts := []string{"**" + t.spent().String() + "**"}
	if t.opening != nil && t.opening.BudgetUSD > 0 {
		budget := t.opening.BudgetUSD
		parts[0] = fmt.Sprintf("**%s of %s** (%d %%)", t.spent(), budget.Dollars(), percent(t.spent().USD, budget))
	}
	parts = append(parts, s.duration(), count(s.iterations(), "state"), count(len(t.actors)+t.others, "agent"))
	if t.ending == nil {
		return strings.Join(append(parts, "as of "+clockTime(t.now)), " · ")
	}
	if n := t.ending.FlakeRetries; n > 0 {
		parts = append(parts, severalAttempts(n))
	}
	if t.ending.Detail == "partial" {
		parts = append(parts, "other agents ended well")
	}
	return strings.Join(parts, " · ")
}

func percent(part, of state.USD) int64 { return int64(float64(part) / float64(of) * 100) }

// clockTime words the time of day; a summary may be read anywhere.
func clockTime(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

func (s *Summary) iterations() int {
	if s.tale.ending != nil {
		return s.tale.ending.Iterations
	}
	return s.tale.begun
}

// duration is how long this part of the run took, and all of them.
func (s *Summary) duration() string {
	t := &s.tale
	part, all := t.now.Sub(t.part), t.earlier
	if t.ending != nil {
		part = time.Duration(t.ending.DurationMS) * time.Millisecond
	} else {
		all += part
	}
	text := span(part)
	if t.parts > 1 {
		text += fmt.Sprintf(" (%s in %d parts)", span(all), t.parts)
	}
	return text
}

// outcome shows the result of the run: a short one as it is, of a long one how
// it begins, and the rest folded.
func (s *Summary) outcome(b *strings.Builder, d diet) {
	end := s.tale.ending
	switch {
	case end == nil || end.Result == nil:
	case s.tale.result.isEmpty():
		b.WriteString("The result is empty.\n\n")
	case s.linked() != "":
		b.WriteString(s.linked())
	default:
		glimpse{what: "**Result**", p: s.tale.result, lines: 15, fromTop: true, isProse: true}.write(b, max(d.text, 1<<10))
		b.WriteString(s.otherLinks())
	}
}

// goOn says what can be done next.
func (s *Summary) goOn(b *strings.Builder, width int) {
	if s.o.Next == "" {
		return
	}
	if s.tale.ending != nil || s.fault != "" {
		b.WriteString("**Next:** ")
	}
	b.WriteString(prose(s.o.Next, width) + "\n\n")
}

// mostAtWork is how many agents are named that are at work.
const mostAtWork = 5

// atWork says what goes on, as of the last event.
func (s *Summary) atWork(b *strings.Builder) {
	if s.tale.ending != nil || s.fault != "" {
		return
	}
	working := s.tale.underWay()
	var parts []string
	for _, x := range working[:min(len(working), mostAtWork)] {
		parts = append(parts, fmt.Sprintf("%s in %s for %s", code(x.agent, widestName), code(x.state, widestName), span(s.tale.now.Sub(x.began))))
	}
	if more := len(working) - mostAtWork; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	if len(parts) > 0 {
		b.WriteString("At work: " + strings.Join(parts, ", ") + "\n\n")
	}
}

// standstill says where a run rests that may go on, in the agents that have not
// failed.
func (s *Summary) standstill(b *strings.Builder) {
	end := s.tale.ending
	if end == nil || end.Status == state.Completed || end.Status == state.Failed {
		return
	}
	var parts []string
	more := 0
	for _, a := range s.tale.actors {
		if a.standing != atWork {
			continue
		}
		if len(parts) == mostAtWork {
			more++
			continue
		}
		parts = append(parts, fmt.Sprintf("%s at %s", code(a.id, widestName), code(a.state, widestName)))
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	if len(parts) > 0 {
		b.WriteString("Stopped: " + strings.Join(parts, ", ") + "\n\n")
	}
}

// underWay returns the executions that have not ended, the oldest first.
func (t *tale) underWay() []*execution {
	var all []*execution
	for _, x := range t.working {
		if x.isAtWork() {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b *execution) int { return a.n - b.n })
	return all
}

// drawPath draws the way that the run took.
func (s *Summary) drawPath(b *strings.Builder) {
	if s.tale.begun == 0 || s.o.Workflow == nil {
		return
	}
	chart := ""
	if len(s.states) <= mostStates {
		chart = diagram.Draw(s.o.Workflow, &s.path)
	}
	b.WriteString("### Path\n\n")
	if chart == "" || len(chart) > mostDiagram {
		b.WriteString("The run went through too many states for a diagram.\n\n")
		return
	}
	// Not within a fold: where the reader's browser lays out what is folded, it
	// has no size, and the diagram none.
	b.WriteString("```mermaid\n" + chart + "```\n\n")
}

// footer has what a reader may need to know besides: where the run is kept, what
// was left out.
func (s *Summary) footer(b *strings.Builder, d diet) {
	var lines []string
	if s.o.WorkflowID != "" {
		lines = append(lines, "Workflow id "+code(s.o.WorkflowID, widestTitle))
	}
	if s.tale.cli != "" {
		lines = append(lines, "Agent CLI: Claude Code "+code(s.tale.cli, widestNote))
	}
	lines = append(lines, s.checkpoints()...)
	for _, note := range s.o.Notes[:min(len(s.o.Notes), mostNotes)] {
		lines = append(lines, prose(note, widestNote))
	}
	if n := len(s.o.Notes) - mostNotes; n > 0 {
		lines = append(lines, fmt.Sprintf("%s more", count(n, "note")))
	}
	if d.cut != "" {
		lines = append(lines, "To stay below GitHub's limit for summaries: "+d.cut+".")
	}
	if len(lines) > 0 {
		b.WriteString("---\n\n- " + strings.Join(lines, "\n- ") + "\n")
	}
}

func (s *Summary) checkpoints() []string {
	var lines []string
	if c := s.tale.stored; c != nil {
		lines = append(lines, fmt.Sprintf("Last checkpoint: step %d, %d KiB, stored %s in %s",
			c.SeqStored, (c.Bytes+1023)/1024, clockTime(s.tale.storedAt), code(c.Store, widestName)))
	}
	if c := s.tale.unstored; c != nil {
		lines = append(lines, "A later checkpoint could not be stored: "+code(cutMiddle(c.Error, widestNote), widestNote))
		if s.tale.stored == nil {
			lines[len(lines)-1] = "A checkpoint could not be stored: " + code(cutMiddle(c.Error, widestNote), widestNote)
		}
	}
	return lines
}
