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

// maxNamed is the maximum number of questions, choices or jobs that one sentence lists.
const maxNamed = 3

// waitsText explains how to resume a run that is suspended because its agents wait: which
// questions to answer, until when agents wait, and which jobs have to run.
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
	switch len(open) {
	case 0:
	case 1:
		lines := report.AnswerLines(f.Prefix, 0, open[0].Choices)
		parts = append(parts, fmt.Sprintf("Answer question %d with a comment %s: %s.", open[0].Number, f.CommentTarget(open[0]), codeList(lines)))
	default:
		var numbers []string
		for _, w := range open {
			numbers = append(numbers, fmt.Sprint(w.Number))
		}
		first := report.AnswerLines(f.Prefix, open[0].Number, open[0].Choices)
		parts = append(parts, fmt.Sprintf("Answer the questions %s with a comment each, such as %s for question %d.",
			report.JoinWords(report.FirstOf(numbers, maxNamed), "and"), codeList(first), open[0].Number))
	}
	switch {
	case len(names) == 0:
	case f.Successor != "":
		parts = append(parts, "The job `"+f.Successor+"` of this workflow run resumes it.")
	default: // the job is not known, so the text names the inputs that it needs
		var inputs []string
		for _, n := range names[:min(len(names), maxNamed)] {
			inputs = append(inputs, "job: "+strings.ReplaceAll(n, "`", ""))
		}
		parts = append(parts, fmt.Sprintf("A later job of this workflow run with %s, %s and `resume: require` resumes it.", codeList(inputs), f.keyText()))
	}
	switch {
	case len(parts) == 0 && f.Until.IsZero(): // agents wait only for other agents, which have failed
		return f.resumeText()
	case slices.ContainsFunc(f.Waits, func(w report.Wait) bool { return w.For == state.ForTime }):
		return strings.Join(append(parts, f.resumeText()+f.scheduleText()), " ")
	case !f.Until.IsZero():
		parts = append(parts, fmt.Sprintf("If there is no answer by %s, the next run with %s resumes it without an answer.%s",
			report.FormatMinute(f.Until), f.keyText(), f.scheduleText()))
	}
	if f.Storage == StoredLocally {
		parts = append(parts, "The run is stored on this machine, for steps "+strings.TrimPrefix(f.withText(), "on this machine ")+".")
	}
	return strings.Join(parts, " ") + f.blocker()
}

// scheduleText explains whether a schedule starts the workflow at the time that agents wait for.
func (f *Facts) scheduleText() string {
	if f.NoSchedule {
		return " The workflow has no `schedule` that would start it."
	}
	return " A `schedule` (`on: schedule`) starts it."
}

// codeList formats at most maxNamed lines as code, as in "`a`, `b` or `c`".
func codeList(lines []string) string {
	var parts []string
	for _, line := range lines {
		parts = append(parts, "`"+line+"`")
	}
	return report.JoinWords(report.FirstOf(parts, maxNamed), "or")
}

// HasNoSchedule reports whether a workflow file has no schedule trigger. It returns false if the file
// can't be read.
func HasNoSchedule(file []byte) bool {
	f, err := lint.ReadJobFile("", file)
	return err == nil && f.HasNoSchedule()
}
