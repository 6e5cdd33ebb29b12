package report

import (
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
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
	return s.writeIfDue()
}

// Tick writes the summary if it has changed and was last written at least writeInterval ago.
func (s *Summary) Tick(time.Time) error { return s.writeIfDue() }

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

// writeIfDue writes the summary if it has changed and was last written at least writeInterval ago.
func (s *Summary) writeIfDue() error {
	if !s.isStale || time.Since(s.written) < writeInterval {
		return nil
	}
	return s.write()
}

// write writes the summary.
func (s *Summary) write() error {
	s.written, s.isStale = time.Now(), false
	return s.o.Write(s.render())
}

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
			return w.String()
		}
	}
}
