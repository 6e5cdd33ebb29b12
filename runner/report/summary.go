package report

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/diagram"
	"github.com/raymond-action/raymond-action/state"
)

// SummaryOptions are the options of a Summary.
type SummaryOptions struct {
	// Write replaces the previous summary. Its argument is the whole summary, as GitHub's Markdown
	// with less than 1,000,000 bytes.
	Write      func(markdown string) error
	WorkflowID string
	// Title is shown in the headline. If empty, the headline shows the WorkflowID.
	Title string
	// Workflow is drawn as a diagram with the run's path. If nil, the summary has no diagram.
	Workflow *protocol.Workflow
	// Site is the URL of the repository with a slash at the end, or "" if it is unknown. URLs on
	// the same host that do not start with Site are not shown as links, because GitHub would notify
	// people of links to their issues.
	Site string
	// JobContext describes the job that drives the run. It determines which hints for waiting
	// agents are shown.
	JobContext JobContext
	// Next describes how to continue the run if the job is killed. It is only shown while the run
	// is active. In Next and Notes, text between two backticks is code, and all other Markdown is
	// escaped.
	Next string
	// Differences are sentences about changes since a resumed run was stopped. The overview shows
	// them too.
	Differences []string
	Skipped     bool // the step started nothing, which is not an error
	// Notes are lines at the end of the summary, for example about files that a checkpoint does not
	// contain.
	Notes []string
	// Report is the link to the report of the run. It is the zero value if no report is stored.
	Report Link
}

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

// Link refers to an artifact. It is only shown as a link if its URL starts with
// SummaryOptions.Site.
type Link struct {
	Name string // name of the artifact; "" if no artifact exists
	URL  string // "" if unknown
}

// writeInterval is the minimum time between two writes. The start and the end of a segment are
// written immediately.
const writeInterval = 2 * time.Second

// Summary describes a run in Markdown: its status, failures, cost, next steps and path, a table of
// its state executions, and its agents. It is written at the start and the end of each segment, on
// Close, and regularly during a segment, so that even a killed job has a summary. Texts of agents
// and scripts are never interpreted as Markdown.
type Summary struct {
	o         SummaryOptions
	model     *Model
	stepError string // "" if the step has not failed
	written   time.Time
	isStale   bool // the summary has changed since it was written
}

// NewSummary returns a Summary of the model m. It writes nothing before the first event.
func NewSummary(m *Model, o SummaryOptions) *Summary {
	o.Notes = slices.Clone(o.Notes)
	if m.Ending != nil {
		o.Next = "" // Next is only for an active run
	}
	return &Summary{o: o, model: m, isStale: m.Opening != nil}
}

// Report implements Reporter.
func (s *Summary) Report(e state.Event) error {
	s.isStale = true
	switch e.Body.(type) {
	case *state.RunStarted:
		return s.write()
	case *state.RunFinished:
		s.o.Next = "" // Next was only for a killed job
		return s.write()
	}
	return s.Tick(e.Time)
}

// Tick writes the summary if it has changed and was last written at least writeInterval ago.
func (s *Summary) Tick(time.Time) error {
	if !s.isStale || time.Since(s.written) < writeInterval {
		return nil
	}
	return s.write()
}

// SetNotes replaces the notes. It does not write the summary.
func (s *Summary) SetNotes(notes ...string) {
	s.o.Notes = slices.Clone(notes)
	s.isStale = true
}

// SetReport sets the link to the report of the run. The overview shows it too. SetReport does not
// write the summary.
func (s *Summary) SetReport(l Link) {
	s.o.Report = l
	s.isStale = true
}

// Next sets the text about how to continue a stopped run, and writes the summary. If text is empty,
// the user need not do anything.
func (s *Summary) Next(text string) error {
	s.o.Next = text
	return s.write()
}

// SetError sets an error of the step that no event reports, such as an error of the machine or the
// store. The headline then shows the error. SetError does not write the summary.
func (s *Summary) SetError(text string) {
	s.stepError = text
	s.isStale = true
}

// Close writes the summary if it has changed.
func (s *Summary) Close() error {
	if !s.isStale {
		return nil
	}
	return s.write()
}

// write writes the summary.
func (s *Summary) write() error {
	s.written, s.isStale = time.Now(), false
	return s.o.Write(s.render())
}

const (
	// maxOverview is the maximum size of an overview in bytes. GitHub accepts comments of up to
	// 65,536 characters.
	maxOverview = 8<<10 - 1
	longestText = 1 << 10 // bytes of a text in an overview

	// maxMarkdown is the maximum size of a summary in bytes. GitHub does not show a summary of more
	// than 1 MiB.
	maxMarkdown = 1_000_000 - 1
	maxCutNote  = 300 // bytes that are reserved for the note that something was cut

	widestTitle    = 150
	widestReason   = 1000
	widestNote     = 500
	maxNotes       = 30
	maxDifferences = 5 // differences that are shown at most

	// maxNamed is the maximum number of agents in one line of the summary, such as the line with
	// active agents.
	maxNamed        = 5
	maxLogins       = 5        // logins that are listed as allowed to answer a question
	longestQuestion = 32 << 10 // bytes of a question in a summary
)

// Overview returns a short form of the summary, with less than 8 KiB of Markdown, for a GitHub
// comment that is edited whenever the run changes. It contains the headline, the open questions, the
// failures, the next steps, and the result, which may be shortened. It is empty before the first
// event. Texts of agents and scripts are never interpreted as Markdown. The caller has to mask
// secrets.
func (s *Summary) Overview() string {
	m := s.model
	if s.stepError == "" && m.Opening == nil && m.Ending == nil && len(m.Agents) == 0 {
		return ""
	}
	for limit := longestText; ; limit /= 2 {
		w := &writer{room: maxOverview, short: max(1, limit)}
		if s.writeTop(w); w.room >= 0 || limit == 0 {
			return w.b.String()
		}
	}
}

// render returns the whole summary, with the most important facts first. The agents' sections and
// the long texts at the top share the room that the other parts leave.
func (s *Summary) render() string {
	table, notes, path := s.table(), s.notes(), ""
	if s.model.ExecutionCount > 0 && s.o.Workflow != nil {
		// The diagram must not be inside a <details> element: hidden elements have no size, so Mermaid
		// would draw an empty diagram.
		path = "### Path\n\n```mermaid\n" + diagram.Draw(s.o.Workflow, s.model.Path()) + "```\n\n"
	}
	top := &writer{room: maxMarkdown - maxCutNote - len(table) - len(path) - len(notes)}
	s.writeTop(top)
	sections, isCut := s.sections(top.room)
	if top.isCut || isCut {
		notes += "- To stay below GitHub's limit for summaries, this page leaves out parts of long texts. The run's event log has the rest\n"
	}
	if notes != "" {
		notes = "---\n\n" + notes
	}
	return top.b.String() + path + table + sections + notes
}

// writeTop writes the most important facts, which are the same in the summary and the overview.
func (s *Summary) writeTop(w *writer) {
	s.writeHeadline(w)
	for _, text := range s.o.Differences[:min(len(s.o.Differences), maxDifferences)] {
		w.write(prose(text, widestNote) + "\n\n")
	}
	s.writeWaits(w)
	if s.model.Ending == nil {
		s.writeAgents(w)
	}
	s.writeFailures(w)
	if s.model.Ending != nil {
		s.writeAgents(w)
	}
	if s.o.Next != "" {
		if s.model.Ending != nil || s.stepError != "" {
			w.write("**Next:** ")
		}
		w.write(prose(s.o.Next, w.limit(widestReason)) + "\n\n")
	}
	w.write(LinkText(s.o.Report, s.o.Site))
	s.writeResult(w)
}

// statusWords maps each status of a run to the start of the headline.
var statusWords = map[state.Status]string{
	state.Completed: "✅ Completed", state.Failed: "❌ Failed",
	state.OverBudget: "⛔ Over budget", state.OverIterations: "⛔ Over the limit of iterations",
	state.Suspended: "⏸️ Suspended", state.Cancelled: "⏹️ Cancelled",
}

// writeHeadline writes the headline and a line with figures: the cost of the run, its duration, and
// the numbers of states and agents.
func (s *Summary) writeHeadline(w *writer) {
	m, status := s.model, "⏳ Running"
	if m.Ending != nil {
		status = statusWords[m.Ending.Status]
	}
	switch {
	case s.o.Skipped:
		status = "⏭️ Skipped"
	case s.stepError != "":
		status = "❌ Error"
	}
	w.printf("## %s: %s\n\n", status, code(cmp.Or(s.o.Title, s.o.WorkflowID), widestTitle))
	if m.Opening == nil && m.Ending == nil {
		return
	}
	spent, iterations, last := m.total(), m.ExecutionCount, []string{"as of " + utcTime(m.Now)}
	if m.Ending != nil {
		iterations, last = m.Ending.Iterations, endTexts(m.Ending)
	}
	parts := []string{"**" + m.withBudget(spent) + "**"}
	if m.Opening != nil && m.Opening.BudgetUSD > 0 {
		parts[0] += fmt.Sprintf(" (%d %%)", int64(float64(spent.USD)/float64(m.Opening.BudgetUSD)*100))
	}
	if m.Opening != nil && m.Opening.InheritedUSD > 0 {
		parts = append(parts, m.Opening.InheritedUSD.Dollars()+" inherited")
	}
	parts = append(parts, m.durationText(), state.Count(iterations, "state"), state.Count(len(m.Agents), "agent"))
	w.write(strings.Join(append(parts, last...), " · ") + "\n\n")
}

// utcTime formats a time of day in UTC, since readers may be in any time zone.
func utcTime(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

// writeWaits writes the open questions with the comments that answer them, and then the other waits
// of the agents that this job drives. Questions come first because a user must do something.
func (s *Summary) writeWaits(w *writer) {
	if end := s.model.Ending; end != nil && end.Status == state.Completed {
		return
	}
	all := slices.DeleteFunc(s.model.openWaits(), func(w Wait) bool { return !isInPart(w.Agent, s.o.JobContext.Part) })
	shown, named := 10, maxNamed
	if w.short > 0 {
		shown, named = 3, 2
	}
	open := waitsOfKind(all, state.ForAnswer)
	for i := range open[:min(len(open), shown)] {
		number := 0
		if len(open) > 1 {
			number = open[i].Number
		}
		s.writeQuestion(w, &open[i], number)
	}
	if more := len(open) - shown; more > 0 {
		w.printf("Also open: %s.\n\n", state.Count(more, "more question"))
	}
	var lines []string // the limit is per kind, so that many waits for a time don't hide waits for jobs
	for _, kind := range []state.WaitFor{state.ForTime, state.ForJob, state.ForAgents} {
		lines = append(lines, FirstOf(s.waitLines(waitsOfKind(all, kind)), named)...)
	}
	if len(lines) > 0 {
		w.write("Waiting:\n\n- " + strings.Join(lines, "\n- ") + "\n\n")
	}
}

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
	target := s.o.JobContext.CommentTarget(*one)
	if where := cmp.Or(one.Where, s.o.JobContext.Number); where > 0 && s.o.Site != "" {
		target = fmt.Sprintf("[%s](%sissues/%d", target, s.o.Site, where)
		if one.Comment > 0 {
			target += fmt.Sprintf("#issuecomment-%d", one.Comment)
		}
		target += ")"
	}
	answers := AnswerLines(s.o.JobContext.Prefix, number, one.Choices)
	how := codeSpan(answers[0])
	switch {
	case len(one.Choices) > 0 && strings.HasSuffix(answers[0], answerPlaceholder): // some choice can't be shown exactly as the user must write it
		how += ", which is one of " + strings.Join(codes(w, one.Choices), ", ")
	case len(one.Choices) > 1:
		how = "one of these: " + strings.Join(codes(w, answers), " · ")
	}
	w.printf("**To answer**, comment %s with %s\n\n", target, how)
	var limits []string
	if len(one.From) > 0 {
		var logins []string
		for _, login := range one.From {
			logins = append(logins, code(login, widestName))
		}
		limits = append(limits, "Only "+JoinWords(FirstOf(logins, maxLogins), "or")+" may answer.")
	}
	if until := one.untilText(); until != "" {
		limits = append(limits, fmt.Sprintf("If there is no answer by %s, the run continues with %s.", until, code(one.TimeoutNext, widestName)))
	}
	if len(limits) > 0 {
		w.write(strings.Join(limits, " ") + "\n\n")
	}
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

// waitLines returns lines about waits of one kind, for a time, for jobs or for agents. Agents that wait
// for one job share a line. A line also explains how the run is resumed.
func (s *Summary) waitLines(waits []Wait) []string {
	var lines []string
	thisJob := s.o.JobContext.Job
	for i, group := range groupByJob(waits) {
		what, then, how := "for the agents that it forked", ", then at ", ""
		switch job := group[0].Job; group[0].For {
		case state.ForTime:
			what = "until " + cmp.Or(group[0].untilText(), "a time")
			switch {
			case i > 0 || thisJob == "":
			case s.o.JobContext.NoSchedule:
				how = " This workflow has no `schedule` that would resume it then; start it yourself."
			default:
				how = " The next scheduled run of this workflow (`on: schedule`) resumes it."
			}
		case state.ForJob:
			what, then = "for the job "+code(job, widestName), " at "
			if thisJob != "" {
				condition := fmt.Sprintf(`contains(needs.%s.outputs.next-jobs, '"%s"')`, thisJob, job)
				how = fmt.Sprintf(" It runs in a job with %s and %s, whose step has %s, `resume: require` and the `key` of this run.",
					code("needs: "+thisJob, widestLine), code("if: "+condition, 2*widestLine), code("job: "+job, widestLine))
			}
		}
		var names []string
		for _, w := range group {
			part := code(w.Agent, widestName) + then + code(w.State, widestName)
			if w.Error != "" {
				part += ", where it failed before: " + code(cutMiddle(w.Error, widestLine), widestLine)
			}
			names = append(names, part)
		}
		lines = append(lines, what+": "+strings.Join(FirstOf(names, maxNamed), ", ")+"."+how)
	}
	return lines
}

// writeAgents writes in which states the agents are that work in an active run, or that were stopped
// with the run. It leaves out failed agents, which are listed elsewhere.
func (s *Summary) writeAgents(w *writer) {
	var parts []string
	end, what := s.model.Ending, "At work"
	switch {
	case end == nil && s.stepError == "":
		for _, x := range s.model.openExecs() {
			if !x.work.isPaused {
				since := FormatDuration(s.model.Now.Sub(x.Started))
				parts = append(parts, fmt.Sprintf("%s in %s for %s", code(x.Agent, widestName), code(x.State, widestName), since))
			}
		}
	case end != nil && end.Status != state.Completed && end.Status != state.Failed:
		what = "Stopped"
		for _, a := range s.agents() {
			if a.Status == Running {
				parts = append(parts, fmt.Sprintf("%s at %s", code(a.ID, widestName), code(a.State, widestName)))
			}
		}
	}
	if len(parts) > 0 {
		w.write(what + ": " + strings.Join(FirstOf(parts, maxNamed), ", ") + "\n\n")
	}
}

// writeResult writes the result of the run. If the result is long, only its first lines are
// visible, and the complete result follows in a folded section. The result is shown as code, in which
// URLs are not links, so a line with its links follows.
func (s *Summary) writeResult(w *writer) {
	end := s.model.Ending
	if end == nil || end.Result == nil {
		return
	}
	result := strings.TrimSpace(shortenMiddle(string(*end.Result), maxResult))
	var links []string
	addresses := allowedURLs(result, s.o.Site)
	for _, address := range addresses {
		at, _ := url.Parse(address) // allowedURLs has parsed it too
		// Without the host, a long URL could look as if it were on another site.
		if link := "<" + address + "> (" + text.Code(at.Hostname()) + ")"; len(links) < maxLinks && !slices.Contains(links, link) {
			links = append(links, link)
		}
	}
	switch {
	case result == "":
		w.write("The result is empty.\n\n")
	case len(addresses) == 1 && addresses[0] == result:
		w.write("**Result**: " + links[0] + "\n\n")
	default:
		excerpt{what: "**Result**", text: string(*end.Result), lines: linesOfResult, fromTop: true, isProse: true}.write(w)
		if len(links) > 0 && (w.short == 0 || w.short > longestLink) {
			w.write("Links in the result: " + strings.Join(links, " · ") + "\n\n")
		}
	}
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

// notes returns the list at the end of the summary, with facts such as the agent CLI and the last
// checkpoint.
func (s *Summary) notes() string {
	var b strings.Builder
	if s.o.WorkflowID != "" {
		fmt.Fprintf(&b, "- Workflow id %s\n", code(s.o.WorkflowID, widestTitle))
	}
	if s.model.CLI != "" {
		fmt.Fprintf(&b, "- Agent CLI: %s\n", code(s.model.CLI, widestNote))
	}
	which := "A checkpoint"
	if c := s.model.Stored; c != nil {
		which = "A later checkpoint"
		fmt.Fprintf(&b, "- Last checkpoint: step %d, %d KiB, stored %s in %s\n",
			c.SeqStored, (c.Bytes+1023)/1024, utcTime(s.model.StoredAt), code(c.Store, widestName))
	}
	if c := s.model.NotStored; c != nil {
		fmt.Fprintf(&b, "- %s could not be stored: %s\n", which, code(cutMiddle(c.Error, widestNote), widestNote))
	}
	for _, note := range FirstOf(s.o.Notes, maxNotes) {
		fmt.Fprintf(&b, "- %s\n", prose(note, widestNote))
	}
	return b.String()
}
