package ask

import (
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// skew is how far the clocks of a machine and of the forge may be apart.
const skew = 30 * time.Second

// History knows when the questions of a run were open, from the run's events. The zero
// value knows of none.
type History struct {
	spans map[int]*span
	of    map[string]int // the last question of an agent
}

// span is when a question was open.
type span struct {
	where int // as the question names it
	since time.Time
	until time.Time // zero: it is open
}

// Report implements report.Reporter.
func (h *History) Report(e state.Event) error {
	switch b := e.Body.(type) {
	case *state.AgentWaits:
		if b.For == state.ForAnswer && b.Number > 0 {
			h.begin(e.Agent, b.Number, span{where: b.Where, since: e.Time})
		}
	case *state.AgentGoesOn:
		if s := h.spans[h.of[e.Agent]]; s != nil && s.until.IsZero() {
			s.until = e.Time
		}
	}
	return nil
}

// Close implements report.Reporter.
func (h *History) Close() error { return nil }

func (h *History) begin(agent string, number int, s span) {
	if h.spans == nil {
		h.spans, h.of = map[int]*span{}, map[string]int{}
	}
	h.spans[number], h.of[agent] = &s, number
}

// openAt returns the numbers of the questions that somebody may have seen open at a time
// of the forge.
func (h *History) openAt(t time.Time) map[int]*span {
	open := map[int]*span{}
	for number, s := range h.spans {
		if !s.since.After(t.Add(skew)) && (s.until.IsZero() || !s.until.Before(t.Add(-skew))) {
			open[number] = s
		}
	}
	return open
}

// copy returns a history that no longer changes.
func (h *History) copy() History {
	c := History{spans: map[int]*span{}}
	for number, s := range h.spans {
		copied := *s
		c.spans[number] = &copied
	}
	return c
}
