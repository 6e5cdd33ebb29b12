package report

import (
	"fmt"
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
	mostFailures = 20      // agents whose fault stands on top
	mostFault    = 2 << 10 // bytes of such a fault
	mostDiagram  = 60_000  // bytes; GitHub draws none of more than 50,000 characters
)

// compose writes the summary, as much of it as the diet allows.
func (s *Summary) compose(d diet) string {
	var b strings.Builder
	s.headline(&b)
	s.failures(&b)
	s.goOn(&b)
	s.outcome(&b)
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
	parts := []string{"**" + dollars(t.spent()) + "**"}
	if t.opening != nil && t.opening.BudgetUSD > 0 {
		budget := t.opening.BudgetUSD
		parts[0] = fmt.Sprintf("**%s of %s** (%d %%)", dollars(t.spent()), dollars(budget), percent(t.spent(), budget))
	}
	parts = append(parts, s.duration(), count(s.iterations(), "state"), count(len(t.actors)+t.others, "agent"))
	if t.ending == nil {
		return strings.Join(append(parts, "as of "+clockTime(t.now)), " · ")
	}
	if n := t.ending.FlakeRetries; n > 0 {
		parts = append(parts, count(n, "flake"))
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

// failures says which agents failed, where, and why.
func (s *Summary) failures(b *strings.Builder) {
	if s.fault != "" {
		b.WriteString(fence(keep(s.fault, mostFault).String()) + "\n")
	}
	shown, failed := 0, 0
	for _, a := range s.tale.actors {
		if a.standing != hasFailed {
			continue
		}
		if failed++; shown == mostFailures {
			continue
		}
		if shown++; shown == 1 {
			b.WriteString("### What failed\n\n")
		}
		b.WriteString(failure(a))
	}
	if failed > shown {
		fmt.Fprintf(b, "And %s more.\n\n", count(failed-shown, "agent"))
	}
	if end := s.tale.ending; failed == 0 || end != nil && end.Status != state.Failed {
		s.reason(b)
	}
}

func failure(a *actor) string {
	text := fmt.Sprintf("Agent %s in state %s", code(a.id, widestName), code(a.state, widestName))
	if a.attempt > 1 {
		text += fmt.Sprintf(", attempt %d", a.attempt)
	}
	text += ":\n\n" + fence(a.fault.within(mostFault).String()) + "\n"
	if a.verdict != "" {
		text += "Its last verdict: " + codeSpan(a.verdict) + "\n\n"
	}
	if !a.output.isEmpty() {
		text += fence(a.output.within(mostFault).String()) + "\n"
	}
	return text
}

// reason says why a run is not completed. Of failed agents the failures tell.
func (s *Summary) reason(b *strings.Builder) {
	if end := s.tale.ending; end != nil && end.Reason != "" {
		fmt.Fprintf(b, "Why: %s\n\n", code(cutMiddle(end.Reason, widestReason), widestReason))
	}
}

// outcome shows the result of the run.
func (s *Summary) outcome(b *strings.Builder) {
	end := s.tale.ending
	switch {
	case end == nil || end.Result == nil:
	case s.tale.result.isEmpty():
		b.WriteString("The result is empty.\n\n")
	default:
		b.WriteString("### Result\n\n" + fence(s.tale.result.String()) + "\n")
	}
}

// largerLimit is what a resume needs after a limit.
var largerLimit = map[state.Status]string{
	state.OverBudget: "with a larger `budget`", state.OverIterations: "with a larger `max-iterations`",
}

// goOn says what to do next.
func (s *Summary) goOn(b *strings.Builder) {
	end := s.tale.ending
	isOver := end != nil && end.Status == state.Completed
	if isOver || s.o.Resume == "" || (end == nil && s.fault == "") {
		return
	}
	hint := prose(s.o.Resume, widestReason)
	if end != nil && largerLimit[end.Status] != "" {
		hint += " Go on " + largerLimit[end.Status] + "."
	}
	b.WriteString("### How to go on\n\n" + hint + "\n\n")
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
	b.WriteString("```mermaid\n" + chart + "```\n\n")
}

// footer has what a reader may need to know besides: where the run is kept, what
// was left out.
func (s *Summary) footer(b *strings.Builder, d diet) {
	var lines []string
	if s.o.WorkflowID != "" {
		lines = append(lines, "Workflow id "+code(s.o.WorkflowID, widestTitle))
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
		lines = append(lines, fmt.Sprintf("The last checkpoint was not stored in %s: %s",
			code(c.Store, widestName), code(cutMiddle(c.Error, widestNote), widestNote)))
	}
	return lines
}
