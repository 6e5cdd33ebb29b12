package report

import (
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// SummaryOptions say what a Summary shows besides the events, and where.
type SummaryOptions struct {
	// Write replaces what was written before. It is given the whole summary, less than
	// 1,000,000 bytes of GitHub's Markdown.
	Write      func(markdown string) error
	WorkflowID string
	// Title is what ran, for the headline; if it is "", the WorkflowID is shown.
	Title string
	// Workflow is what the path is drawn on; nil means no diagram.
	Workflow *protocol.Workflow
	// Site is the address of the repository, with a slash at its end; "" if it is not
	// known. Nothing else on its host is linked to: the forge would tell people there
	// that they were mentioned.
	Site string
	// JobContext is where the run is driven.
	JobContext JobContext
	// Next says what can be done with the run if its job is killed. It is shown while
	// the run is active. Pairs of backticks make code, as in Notes; all else in both is
	// shown as it is.
	Next string
	// Differences are sentences about what a resumed run found different from how it was
	// left.
	// The overview has them too.
	Differences []string
	Skipped     bool // the step has started nothing, and that is no error
	// Notes are lines for the end, such as what a checkpoint left out.
	Notes []string
	// Report leads to the report of the run; zero for none.
	Report Link
}

// Link leads to an artifact. It is shown as a link only where its address lies below
// SummaryOptions.Site.
type Link struct {
	Name string // of the artifact; "" for none
	URL  string // "" where it is not known
}

// leastPause is how long a summary is not written again, unless a part of the run begins or ends.
const leastPause = 2 * time.Second

// Summary says in Markdown how a run went: whether it worked, what failed, what it
// cost, what to do next, then its path, a table of its states, and its agents. It
// writes all of that whenever a part of the run begins or ends and on Close, and now
// and then in between, so that a job that is killed has a summary too. Nothing that
// agents and scripts wrote is read as Markdown.
type Summary struct {
	o         SummaryOptions
	model     *Model
	stepError string // "" for none
	written   time.Time
	isStale   bool // something happened since then
}

// NewSummary returns a Summary of all that a model knows. It writes nothing before the first event.
func NewSummary(m *Model, o SummaryOptions) *Summary {
	o.Notes = slices.Clone(o.Notes)
	if m.Ending != nil {
		o.Next = "" // it is for a run that is active
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
		s.o.Next = "" // it was for a job that is killed
		return s.write()
	}
	return s.writeNowAndThen()
}

// Tick writes what happened since the last write, when that is long enough ago.
func (s *Summary) Tick(time.Time) error { return s.writeNowAndThen() }

// SetNotes replaces the notes of the options from the next write on.
func (s *Summary) SetNotes(notes ...string) {
	s.o.Notes = slices.Clone(notes)
	s.isStale = true
}

// SetReport says where the report of the run is. The overview has that too.
func (s *Summary) SetReport(l Link) {
	s.o.Report = l
	s.isStale = true
}

// Next says what can be done with a run that has stopped, "" for nothing, and writes
// the summary.
func (s *Summary) Next(text string) error {
	s.o.Next = text
	return s.write()
}

// SetError makes the headline say that the step ended with an error that is in no
// event, such as one of the machine or of the store.
func (s *Summary) SetError(text string) {
	s.stepError = text
	s.isStale = true
}

// Close writes the summary if something happened since it was last written.
func (s *Summary) Close() error {
	if !s.isStale {
		return nil
	}
	return s.write()
}

func (s *Summary) writeNowAndThen() error {
	if !s.isStale || time.Since(s.written) < leastPause {
		return nil
	}
	return s.write()
}

func (s *Summary) write() error {
	s.written, s.isStale = time.Now(), false
	return s.o.Write(s.page())
}

// Overview returns a short form of the summary in Markdown, less than 8 KiB of it, for
// a comment that is edited in place: headline and figures as in the summary, what
// failed first, the result, which may be cut, and what to do next. It is "" before the
// first event. As in the summary, nothing that agents and scripts wrote is read as
// Markdown. The caller has to mask secrets.
func (s *Summary) Overview() string {
	m := s.model
	if s.stepError == "" && m.Opening == nil && m.Ending == nil && len(m.Agents) == 0 {
		return ""
	}
	for limit := longestText; ; limit /= 2 {
		w := &writer{room: maxOverview, short: max(1, limit)}
		if s.top(w); w.room >= 0 || limit == 0 {
			return w.String()
		}
	}
}
