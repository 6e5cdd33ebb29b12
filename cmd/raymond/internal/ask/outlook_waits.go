package ask

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/protocol/lint"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// maxNamed is how many questions, choices or jobs one sentence names.
const maxNamed = 3

// waitsText says how a run is resumed that is suspended because agents wait: what
// somebody has to answer, when there is something due, and which jobs have to run.
func (f *Facts) waitsText() string {
	var open []report.Wait
	var names []string
	for _, w := range f.Waits {
		switch {
		case w.For == state.ForAnswer:
			open = append(open, w)
		case w.For == state.ForJob && !slices.Contains(names, w.Job):
			names = append(names, w.Job)
		}
	}
	slices.SortFunc(open, func(a, b report.Wait) int { return cmp.Compare(a.Number, b.Number) })
	var parts []string
	if len(open) > 0 {
		parts = append(parts, f.answerText(open))
	}
	if len(names) > 0 {
		parts = append(parts, f.jobText(names))
	}
	switch {
	case len(parts) == 0 && f.Until.IsZero(): // agents wait for others, which have failed
		return f.resumeText()
	case slices.ContainsFunc(f.Waits, func(w report.Wait) bool { return w.For == state.ForTime }):
		return strings.Join(append(parts, f.resumeText()+f.scheduleText()), " ")
	case !f.Until.IsZero():
		parts = append(parts, fmt.Sprintf("If nobody has answered by %s, the next run with %s resumes it without an answer.%s",
			report.FormatMinute(f.Until), f.keyText(), f.scheduleText()))
	}
	if f.Storage == StoredLocally {
		parts = append(parts, "The run is kept on this machine, for steps "+strings.TrimPrefix(f.withText(), "on this machine ")+".")
	}
	return strings.Join(parts, " ") + f.hindrance()
}

// answerText says how open questions are answered.
func (f *Facts) answerText(open []report.Wait) string {
	if len(open) == 1 {
		w := open[0]
		return fmt.Sprintf("Answer question %d with a comment%s: %s.", w.Number, f.whereText(w), orCode(report.AnswerLines(f.Prefix, 0, w.Choices)))
	}
	var numbers []string
	for _, w := range open {
		numbers = append(numbers, fmt.Sprint(w.Number))
	}
	first := report.AnswerLines(f.Prefix, open[0].Number, open[0].Choices)
	return fmt.Sprintf("Answer the questions %s with a comment each, such as %s for question %d.", report.JoinWords(report.FirstOf(numbers, maxNamed), "and"), orCode(first), open[0].Number)
}

// whereText says on which issue or pull request the answer to a question belongs.
func (f *Facts) whereText(w report.Wait) string {
	switch {
	case w.Where != 0 && w.Where != f.Number:
		return fmt.Sprintf(" on issue or pull request %d", w.Where)
	case f.Number != 0:
		return fmt.Sprintf(" on %s %d", f.Kind, f.Number)
	}
	return " where it is asked"
}

// jobText says which job resumes the run.
func (f *Facts) jobText(names []string) string {
	if f.Successor != "" {
		return "The job `" + f.Successor + "` of this workflow run resumes it."
	}
	var inputs []string
	for _, n := range names[:min(len(names), maxNamed)] {
		inputs = append(inputs, "job: "+strings.ReplaceAll(n, "`", ""))
	}
	return fmt.Sprintf("A later job of this workflow run with %s, %s and `resume: require` resumes it.", orCode(inputs), f.keyText())
}

// scheduleText says what starts a run when something is due.
func (f *Facts) scheduleText() string {
	if f.NoSchedule {
		return " The workflow has no `schedule` that would start one by itself."
	}
	return " A `schedule` (`on: schedule`) starts one by itself."
}

// orCode joins lines as code, as in "`a`, `b` or `c`".
func orCode(lines []string) string {
	var parts []string
	for _, line := range lines {
		parts = append(parts, "`"+line+"`")
	}
	return report.JoinWords(report.FirstOf(parts, maxNamed), "or")
}

// HasNoSchedule reports whether a workflow file says that no schedule starts it. It is
// false where the file can't be read.
func HasNoSchedule(file []byte) bool {
	f, err := lint.ReadJobFile("", file)
	return err == nil && f.HasNoSchedule()
}
