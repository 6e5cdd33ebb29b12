package report

import (
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// SummaryOptions configure a Summary.
type SummaryOptions struct {
	// Write replaces the previous summary. It gets the whole summary, less than 1,000,000 bytes of
	// GitHub's Markdown.
	Write      func(markdown string) error
	WorkflowID string
	// Title is shown in the headline; "" means the WorkflowID.
	Title string
	// Workflow is drawn as a diagram with the run's path; nil for no diagram.
	Workflow *protocol.Workflow
	// Site is the URL of the repository with a trailing slash, "" if unknown. No other URL on its
	// host becomes a link, because links to issues elsewhere would notify people.
	Site string
	// JobContext describes the job that drives the run.
	JobContext JobContext
	// Next has the next steps if the job is killed. It is shown while the run is active. In Next
	// and Notes, pairs of backticks are code, and everything else is shown unchanged.
	Next string
	// Differences are sentences about changes since a resumed run was stopped. They are
	// shown in the overview, too.
	Differences []string
	Skipped     bool // the step started nothing, which is not an error
	// Notes are lines at the end, for example about omissions in a checkpoint.
	Notes []string
	// Report is the report of the run; the zero value means none.
	Report Link
}

// Link is a link to an artifact. It is shown as a link only if its URL is below
// SummaryOptions.Site.
type Link struct {
	Name string // name of the artifact; "" for none
	URL  string // "" if unknown
}

// writeInterval is the minimum time between writes, except at the start and the end of a segment.
const writeInterval = 2 * time.Second

// Summary describes a run in Markdown: its status, failures, cost, next steps, path, a table of its
// state executions, and its agents. It is written at the start and the end of each segment, on
// Close, and regularly in between, so that a killed job has a summary too. No text of agents and
// scripts is interpreted as Markdown.
type Summary struct {
	o         SummaryOptions
	model     *Model
	stepError string // "" if the step has not failed
	written   time.Time
	isStale   bool // something has happened since then
}

// NewSummary returns a Summary of a model. It writes nothing before the first event.
func NewSummary(m *Model, o SummaryOptions) *Summary {
	o.Notes = slices.Clone(o.Notes)
	if m.Ending != nil {
		o.Next = "" // it is for an active run
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
		s.o.Next = "" // it was for a killed job
		return s.write()
	}
	return s.writeIfDue()
}

// Tick writes changes since the last write, if that is long enough ago.
func (s *Summary) Tick(time.Time) error { return s.writeIfDue() }

// SetNotes replaces the notes from the next write on.
func (s *Summary) SetNotes(notes ...string) {
	s.o.Notes = slices.Clone(notes)
	s.isStale = true
}

// SetReport sets the link to the report of the run, which the overview shows, too.
func (s *Summary) SetReport(l Link) {
	s.o.Report = l
	s.isStale = true
}

// Next sets the next steps of a stopped run, "" for none, and writes the summary.
func (s *Summary) Next(text string) error {
	s.o.Next = text
	return s.write()
}

// SetError sets an error of the step that is in no event, such as an error of the machine or the
// store. The headline then shows that the step has failed.
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

// writeIfDue writes changes, unless the last write was too recent.
func (s *Summary) writeIfDue() error {
	if !s.isStale || time.Since(s.written) < writeInterval {
		return nil
	}
	return s.write()
}

func (s *Summary) write() error {
	s.written, s.isStale = time.Now(), false
	return s.o.Write(s.render())
}

// Overview returns a short form of the summary, less than 8 KiB of Markdown, for a comment that is
// edited in place: the headline, the failures, the next steps and the result, which may be
// shortened. It is "" before the first event. No text of agents and scripts is interpreted as
// Markdown. The caller has to mask secrets.
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
