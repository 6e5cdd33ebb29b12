package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// waitDetail says how much is written of agents that wait.
type waitDetail struct {
	questions int // that are shown; the others are counted
	text      int // bytes of a question
	named     int // agents of a kind that are named
	width     int // columns of a name
	isShort   bool
}

// fullDetail is for the page.
var fullDetail = waitDetail{questions: 10, text: 32 << 10, named: maxNamed, width: widestName}

// shortDetail is for the overview, with about limit bytes of a question.
func shortDetail(limit int) waitDetail {
	return waitDetail{questions: 3, text: limit, named: 2, width: 40, isShort: true}
}

// maxFrom is how many logins are named that may answer a question.
const maxFrom = 5

// Place says where a run is driven, as far as it decides how agents are reached that wait.
type Place struct {
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
func (d *document) waits() []Wait {
	if end := d.model.Ending; end != nil && end.Status == state.Completed {
		return nil
	}
	all := slices.DeleteFunc(d.model.openWaits(), func(w Wait) bool { return !isMember(w.Agent, d.o.Place.Part) })
	for i, w := range all {
		if w.For == state.ForAgents && w.Agents == 0 {
			all[i].Agents = countBelow(d.model.Agents, w.Agent, func(a *Agent) (string, string, bool) {
				return a.ID, a.Parent, a.Status == Running || a.Status == agentWaits
			})
		}
	}
	return all
}

// writeWaits writes the open questions, each with the words that answer it, and then who
// waits for anything else. A reader who must do something sees it first.
func (d *document) writeWaits(w *writer, detail waitDetail) {
	all := d.waits()
	t := waitText{place: d.o.Place, site: d.o.Site, waitDetail: detail}
	t.questionsOf(w, questions(all))
	lines := slices.Concat(t.timeLines(timed(all)), t.jobLines(jobs(all)), t.joinLines(ofKind(all, state.ForAgents)))
	if len(lines) > 0 {
		w.write("Waiting:\n\n- " + strings.Join(lines, "\n- ") + "\n\n")
	}
}

// waitText words what people must know of agents that wait.
type waitText struct {
	place Place
	site  string // address of the repository; "" for not known
	waitDetail
}

func (t *waitText) questionsOf(w *writer, open []Wait) {
	shown := open[:min(len(open), t.questions)]
	for i := range shown {
		number := 0
		if len(open) > 1 {
			number = shown[i].Number
		}
		t.question(w, &shown[i], number)
	}
	switch more := len(open) - len(shown); {
	case more == 1:
		w.write("One more question is open.\n\n")
	case more > 1:
		w.printf("%d more questions are open.\n\n", more)
	}
}

// question writes an open question: its text, the words that answer it, who may, and what
// happens when nobody does. number is 0 if no other is open.
func (t *waitText) question(w *writer, one *Wait, number int) {
	w.printf("**Question %d**, asked by %s:\n\n", one.Number, code(one.Agent, t.width))
	text := newPassage(one.Question, max(t.text, widestLine))
	asked := func(shown string) string { return fence(wrap(shown)) + "\n" }
	if t.isShort { // it has no room to be cut to, but is short enough
		w.write(asked(text.within(t.text).String()))
	} else {
		w.text(text, asked)
	}
	w.printf("**To answer**, comment %s %s\n\n", t.where(one), t.words(one, number))
	if limits := t.limits(one); limits != "" {
		w.write(limits + "\n\n")
	}
}

// where says where the comment belongs that answers a question.
func (t *waitText) where(one *Wait) string {
	number, kind := cmp.Or(one.Where, t.place.Number), "issue or pull request"
	if number == t.place.Number {
		kind = cmp.Or(t.place.Kind, kind)
	}
	switch {
	case number <= 0:
		return "where the question is asked"
	case t.site == "":
		return fmt.Sprintf("on %s %d", kind, number)
	case one.Comment > 0:
		return fmt.Sprintf("[on %s %d](%sissues/%d#issuecomment-%d)", kind, number, t.site, number, one.Comment)
	}
	return fmt.Sprintf("[on %s %d](%sissues/%d)", kind, number, t.site, number)
}

// words are the exact words that answer a question, after "comment on issue 12".
func (t *waitText) words(one *Wait, number int) string {
	lines := AnswerLines(t.place.Prefix, number, one.Choices)
	switch n := len(one.Choices); {
	case n == 0:
		return "with " + codeSpan(lines[0])
	case strings.HasSuffix(lines[0], anyAnswer): // a choice that can't be shown as it is written
		return fmt.Sprintf("with %s, which is one of %s", codeSpan(lines[0]), strings.Join(t.codes(one.Choices), ", "))
	case n == 1:
		return "with " + codeSpan(lines[0])
	}
	return "with one of these: " + strings.Join(t.codes(lines), " · ")
}

// codes returns lines as code, as many as there is room for.
func (t *waitText) codes(lines []string) []string {
	var all []string
	room := max(2*widestLine, min(t.text, maxText))
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
func (t *waitText) limits(one *Wait) string {
	var parts []string
	if len(one.From) > 0 {
		var logins []string
		for _, login := range one.From {
			logins = append(logins, code(login, t.width))
		}
		parts = append(parts, "Only "+Joined(FirstOf(logins, maxFrom), "or")+" may answer.")
	}
	if until := one.untilText(); until != "" {
		parts = append(parts, fmt.Sprintf("If nobody has answered by %s, the run continues with %s.", until, code(one.TimeoutNext, t.width)))
	}
	return strings.Join(parts, " ")
}

// listed returns a line for each of the first that wait, and one for all others.
func listed[T any](t *waitText, all []T, line func(T) string, others func(n int) string) []string {
	var lines []string
	for _, one := range all[:min(len(all), t.named)] {
		lines = append(lines, line(one))
	}
	if n := len(all) - t.named; n > 0 {
		lines = append(lines, others(n))
	}
	return lines
}

// more words how many others there are.
func more(before, thing string) func(n int) string {
	return func(n int) string { return before + count(n, "more "+thing) + "." }
}

// timeLines say until when agents wait, and what resumes the run then.
func (t *waitText) timeLines(all []Wait) []string {
	lines := listed(t, all, func(w Wait) string {
		return fmt.Sprintf("until %s: %s, then at %s.", cmp.Or(w.untilText(), "a time"), code(w.Agent, t.width), code(w.State, t.width))
	}, more("until later: ", "agent"))
	if len(lines) > 0 && t.place.Job != "" {
		how := "A run of this workflow by a `schedule` (`on: schedule`) resumes what is due."
		if t.place.NoSchedule {
			how = "This workflow has no `schedule` that would resume it then: start it yourself."
		}
		lines[len(lines)-1] += " " + how
	}
	return lines
}

// jobLines say for which jobs agents wait, and how such a job is made to run.
func (t *waitText) jobLines(all []jobWaits) []string {
	return listed(t, all, func(g jobWaits) string {
		var names []string
		for _, w := range g.agents {
			part := fmt.Sprintf("%s at %s", code(w.Agent, t.width), code(w.State, t.width))
			if w.Error != "" {
				part += ", where it failed before: " + code(cutMiddle(w.Error, 2*t.width), 2*t.width)
			}
			names = append(names, part)
		}
		return fmt.Sprintf("for the job %s: %s.%s", code(g.job, t.width), strings.Join(FirstOf(names, t.named), ", "), t.howJob(g.job))
	}, more("for ", "job"))
}

// howJob says how a job that is waited for is made to run.
func (t *waitText) howJob(job string) string {
	if t.place.Job == "" {
		return ""
	}
	condition := fmt.Sprintf(`contains(needs.%s.outputs.next-jobs, '"%s"')`, t.place.Job, job)
	return fmt.Sprintf(" It runs in a job with %s and %s, whose step has %s, `resume: require` and the `key` of this run.",
		code("needs: "+t.place.Job, 2*t.width), code("if: "+condition, 4*t.width), code("job: "+job, 2*t.width))
}

// joinLines say for how many agents others wait.
func (t *waitText) joinLines(all []Wait) []string {
	return listed(t, all, func(w Wait) string {
		what := "the agents that it forked"
		if w.Agents > 0 {
			what = count(w.Agents, "agent") + " to end"
		}
		return fmt.Sprintf("for %s: %s, then at %s.", what, code(w.Agent, t.width), code(w.State, t.width))
	}, more("for others to end: ", "agent"))
}
