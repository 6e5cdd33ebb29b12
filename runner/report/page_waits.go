package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// maxFrom is how many logins are named that may answer a question.
const maxFrom = 5

// JobContext says where a run is driven, as far as it decides how agents are reached that wait.
type JobContext struct {
	Prefix string // that answers begin with; "" for DefaultPrefix
	// Number is that of the issue or pull request of the event, 0 for none, and Kind is
	// "issue" or "pull request", with a number.
	Number int
	Kind   string
	Job    string // the id of this job in its workflow file; "" for not known
	// Part names the agents of the part of a matrix that is driven; nil for the whole run.
	Part []string
	// NoSchedule says that nothing starts the workflow by a schedule.
	NoSchedule bool
}

// waits are the agents that wait.
func (s *Summary) waits() []Wait {
	if end := s.model.Ending; end != nil && end.Status == state.Completed {
		return nil
	}
	return slices.DeleteFunc(s.model.openWaits(), func(w Wait) bool { return !isMember(w.Agent, s.o.JobContext.Part) })
}

// writeWaits writes the open questions, each with the words that answer it, and then who
// waits for anything else. A reader who must do something sees it first.
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
		s.question(w, &open[i], number)
	}
	if more := len(open) - shown; more > 0 {
		w.printf("Also open: %s.\n\n", count(more, "more question"))
	}
	var joins []string
	for _, join := range ofKind(all, state.ForAgents) {
		joins = append(joins, fmt.Sprintf("for the agents that it forked: %s.", join.next()))
	}
	var lines []string // of each kind the first: many agents that wait for a time hide no job
	for _, kind := range [][]string{s.timeLines(timed(all)), s.jobLines(jobs(all)), joins} {
		lines = append(lines, FirstOf(kind, named)...)
	}
	if len(lines) > 0 {
		w.write("Waiting:\n\n- " + strings.Join(lines, "\n- ") + "\n\n")
	}
}

// longestQuestion is how much of a question a page shows, in bytes.
const longestQuestion = 32 << 10

// question writes an open question: its text, the words that answer it, who may, and what
// happens when nobody does. number is 0 if no other is open.
func (s *Summary) question(w *writer, one *Wait, number int) {
	w.printf("**Question %d**, asked by %s:\n\n", one.Number, code(one.Agent, widestName))
	asked := func(shown string) string { return fence(wrap(shown)) + "\n" }
	if w.short > 0 { // it has no room to be cut to, but is short enough
		w.write(asked(middleOut(one.Question, max(w.short, widestLine))))
	} else {
		w.text(one.Question, longestQuestion, asked)
	}
	w.printf("**To answer**, comment %s %s\n\n", s.where(one), s.words(w, one, number))
	if text := limits(one); text != "" {
		w.write(text + "\n\n")
	}
}

// where says where the comment belongs that answers a question.
func (s *Summary) where(one *Wait) string {
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

// words are the exact words that answer a question, after "comment on issue 12".
func (s *Summary) words(w *writer, one *Wait, number int) string {
	lines := AnswerLines(s.o.JobContext.Prefix, number, one.Choices)
	switch n := len(one.Choices); {
	case n == 0:
		return "with " + codeSpan(lines[0])
	case strings.HasSuffix(lines[0], anyAnswer): // a choice that can't be shown as it is written
		return fmt.Sprintf("with %s, which is one of %s", codeSpan(lines[0]), strings.Join(codes(w, one.Choices), ", "))
	case n == 1:
		return "with " + codeSpan(lines[0])
	}
	return "with one of these: " + strings.Join(codes(w, lines), " · ")
}

// codes returns lines as code, as many as there is room for.
func codes(w *writer, lines []string) []string {
	var all []string
	room := max(2*widestLine, w.most(maxText))
	for i, line := range lines {
		one := code(line, 2*widestName)
		if room -= len(one); i == maxChoices || room < 0 {
			return append(all, fmt.Sprintf("%d more", len(lines)-i))
		}
		all = append(all, one)
	}
	return all
}

// limits says who may answer, until when, and what happens then; "" for no limits.
func limits(one *Wait) string {
	var parts []string
	if len(one.From) > 0 {
		var logins []string
		for _, login := range one.From {
			logins = append(logins, code(login, widestName))
		}
		parts = append(parts, "Only "+JoinWords(FirstOf(logins, maxFrom), "or")+" may answer.")
	}
	if until := one.untilText(); until != "" {
		parts = append(parts, fmt.Sprintf("If nobody has answered by %s, the run continues with %s.", until, code(one.TimeoutNext, widestName)))
	}
	return strings.Join(parts, " ")
}

// timeLines say until when agents wait, and what resumes the run then.
func (s *Summary) timeLines(all []Wait) []string {
	var lines []string
	for i := range all {
		lines = append(lines, fmt.Sprintf("until %s: %s.", cmp.Or(all[i].untilText(), "a time"), all[i].next()))
	}
	if len(lines) > 0 && s.o.JobContext.Job != "" {
		how := "A run of this workflow by a `schedule` (`on: schedule`) resumes what is due."
		if s.o.JobContext.NoSchedule {
			how = "This workflow has no `schedule` that would resume it then: start it yourself."
		}
		lines[0] += " " + how
	}
	return lines
}

// next names an agent and the state that starts when it no longer waits.
func (w *Wait) next() string {
	return fmt.Sprintf("%s, then at %s", code(w.Agent, widestName), code(w.State, widestName))
}

// jobLines say for which jobs agents wait, and how such a job is made to run.
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
		if own := s.o.JobContext.Job; own != "" {
			condition := fmt.Sprintf(`contains(needs.%s.outputs.next-jobs, '"%s"')`, own, job)
			how = fmt.Sprintf(" It runs in a job with %s and %s, whose step has %s, `resume: require` and the `key` of this run.",
				code("needs: "+own, widestLine), code("if: "+condition, 2*widestLine), code("job: "+job, widestLine))
		}
		lines = append(lines, fmt.Sprintf("for the job %s: %s.%s", code(job, widestName), strings.Join(FirstOf(names, maxNamed), ", "), how))
	}
	return lines
}
