package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// maxLogins is the maximum number of logins that are listed as allowed to answer a question.
const maxLogins = 5

// JobContext describes the job that drives a run. It contains the data that a user needs to resume
// waiting agents.
type JobContext struct {
	Prefix string // start of comments that answer questions; "" means DefaultPrefix
	// Number is the number of the issue or pull request that started the job. It is 0 if something
	// else has started the job. If Number is not 0, Kind is "issue" or "pull request".
	Number int
	Kind   string
	Job    string // id of this job in its workflow file; "" if unknown
	// Part contains the agents of the matrix part that this job drives. If nil, the job drives the
	// whole run.
	Part []string
	// NoSchedule is set if the workflow is not started by a schedule.
	NoSchedule bool
}

// waits returns the open waits of the agents that this job drives, or nil if the run has completed.
func (s *Summary) waits() []Wait {
	if end := s.model.Ending; end != nil && end.Status == state.Completed {
		return nil
	}
	return slices.DeleteFunc(s.model.openWaits(), func(w Wait) bool { return !isInPart(w.Agent, s.o.JobContext.Part) })
}

// writeWaits writes the open questions with the comments that answer them, and then the other
// waits. Questions come first because a user must do something.
func (s *Summary) writeWaits(w *writer) {
	all := s.waits()
	shown, named := 10, maxNamed
	if w.short > 0 {
		shown, named = 3, 2
	}
	open := questions(all)
	for i := range open[:min(len(open), shown)] {
		number := 0
		if len(open) > 1 {
			number = open[i].Number
		}
		s.writeQuestion(w, &open[i], number)
	}
	if more := len(open) - shown; more > 0 {
		w.printf("Also open: %s.\n\n", count(more, "more question"))
	}
	var joins []string
	for _, join := range waitsOfKind(all, state.ForAgents) {
		joins = append(joins, fmt.Sprintf("for the agents that it forked: %s.", join.agentAndState()))
	}
	var lines []string // the limit is per kind, so that many waits for a time don't hide waits for jobs
	for _, kind := range [][]string{s.timeLines(timeWaits(all)), s.jobLines(groupByJob(all)), joins} {
		lines = append(lines, FirstOf(kind, named)...)
	}
	if len(lines) > 0 {
		w.write("Waiting:\n\n- " + strings.Join(lines, "\n- ") + "\n\n")
	}
}

// longestQuestion is the maximum size of a question in a summary, in bytes.
const longestQuestion = 32 << 10

// writeQuestion writes an open question: its text, how to answer it, who may answer it, and what
// happens after its timeout. number is the question's number in the answer, or 0 if the answer
// needs no number because no other question is open.
func (s *Summary) writeQuestion(w *writer, one *Wait, number int) {
	w.printf("**Question %d**, asked by %s:\n\n", one.Number, code(one.Agent, widestName))
	render := func(shown string) string { return fence(wrap(shown)) + "\n" }
	if w.short > 0 { // an overview limits the size of each text and not the total room
		w.write(render(shortenMiddle(one.Question, max(w.short, widestLine))))
	} else {
		w.text(one.Question, longestQuestion, render)
	}
	w.printf("**To answer**, comment %s %s\n\n", s.commentTarget(one), s.answerWords(w, one, number))
	if text := limitsText(one); text != "" {
		w.write(text + "\n\n")
	}
}

// commentTarget returns the issue or pull request on which a question must be answered, as the
// words after "comment", with a link if possible.
func (s *Summary) commentTarget(one *Wait) string {
	number, kind := cmp.Or(one.Where, s.o.JobContext.Number), "issue or pull request"
	if number == s.o.JobContext.Number {
		kind = cmp.Or(s.o.JobContext.Kind, kind)
	}
	switch {
	case number <= 0:
		return "where the question is asked"
	case s.o.Site == "":
		return fmt.Sprintf("on %s %d", kind, number)
	case one.Comment > 0:
		return fmt.Sprintf("[on %s %d](%sissues/%d#issuecomment-%d)", kind, number, s.o.Site, number, one.Comment)
	}
	return fmt.Sprintf("[on %s %d](%sissues/%d)", kind, number, s.o.Site, number)
}

// answerWords returns the comments that answer a question, as the words that follow "comment on
// issue 12".
func (s *Summary) answerWords(w *writer, one *Wait, number int) string {
	lines := AnswerLines(s.o.JobContext.Prefix, number, one.Choices)
	switch n := len(one.Choices); {
	case n == 0:
		return "with " + codeSpan(lines[0])
	case strings.HasSuffix(lines[0], answerPlaceholder): // some choice can't be shown exactly as the user must write it
		return fmt.Sprintf("with %s, which is one of %s", codeSpan(lines[0]), strings.Join(codes(w, one.Choices), ", "))
	case n == 1:
		return "with " + codeSpan(lines[0])
	}
	return "with one of these: " + strings.Join(codes(w, lines), " · ")
}

// codes returns each line as code. If the lines are too many or too long, it returns the first ones
// and a text with the number of the others.
func codes(w *writer, lines []string) []string {
	var all []string
	room := max(2*widestLine, w.limit(maxText))
	for i, line := range lines {
		one := code(line, 2*widestName)
		if room -= len(one); i == maxChoices || room < 0 {
			return append(all, fmt.Sprintf("%d more", len(lines)-i))
		}
		all = append(all, one)
	}
	return all
}

// limitsText returns who may answer a question, until when, and what happens after that time. It
// returns "" if anyone may answer at any time.
func limitsText(one *Wait) string {
	var parts []string
	if len(one.From) > 0 {
		var logins []string
		for _, login := range one.From {
			logins = append(logins, code(login, widestName))
		}
		parts = append(parts, "Only "+JoinWords(FirstOf(logins, maxLogins), "or")+" may answer.")
	}
	if until := one.untilText(); until != "" {
		parts = append(parts, fmt.Sprintf("If there is no answer by %s, the run continues with %s.", until, code(one.TimeoutNext, widestName)))
	}
	return strings.Join(parts, " ")
}

// timeLines returns a line for each agent that waits for a time. The first line also explains how
// the run is resumed at that time.
func (s *Summary) timeLines(all []Wait) []string {
	var lines []string
	for i := range all {
		lines = append(lines, fmt.Sprintf("until %s: %s.", cmp.Or(all[i].untilText(), "a time"), all[i].agentAndState()))
	}
	if len(lines) > 0 && s.o.JobContext.Job != "" {
		how := "The next scheduled run of this workflow (`on: schedule`) resumes it."
		if s.o.JobContext.NoSchedule {
			how = "This workflow has no `schedule` that would resume it then; start it yourself."
		}
		lines[0] += " " + how
	}
	return lines
}

// agentAndState returns the name of an agent and of the state that starts after its wait.
func (w *Wait) agentAndState() string {
	return fmt.Sprintf("%s, then at %s", code(w.Agent, widestName), code(w.State, widestName))
}

// jobLines returns a line for each job that agents wait for. The line names the agents and explains
// how to define the job in the workflow file.
func (s *Summary) jobLines(all [][]Wait) []string {
	var lines []string
	for _, agents := range all {
		var names []string
		for _, w := range agents {
			part := fmt.Sprintf("%s at %s", code(w.Agent, widestName), code(w.State, widestName))
			if w.Error != "" {
				part += ", where it failed before: " + code(cutMiddle(w.Error, widestLine), widestLine)
			}
			names = append(names, part)
		}
		job, how := agents[0].Job, ""
		if thisJob := s.o.JobContext.Job; thisJob != "" {
			condition := fmt.Sprintf(`contains(needs.%s.outputs.next-jobs, '"%s"')`, thisJob, job)
			how = fmt.Sprintf(" It runs in a job with %s and %s, whose step has %s, `resume: require` and the `key` of this run.",
				code("needs: "+thisJob, widestLine), code("if: "+condition, 2*widestLine), code("job: "+job, widestLine))
		}
		lines = append(lines, fmt.Sprintf("for the job %s: %s.%s", code(job, widestName), strings.Join(FirstOf(names, maxNamed), ", "), how))
	}
	return lines
}
