package page

import (
	"cmp"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/runner/report"
)

// whole is the width of the timeline: places and widths are counted in hundredths of a percent.
const whole = 10_000

// A time without any work takes at most shareOfPause of the time with work, and all of
// them together at most shareOfPauses.
const (
	shareOfPause  = 0.05
	shareOfPauses = 0.3
)

// stretch is a time between two moments at which something began or ended, with its place
// on the timeline.
type stretch struct {
	from, to    time.Time
	left, width float64 // in parts of the timeline
	isPause     bool    // nobody worked
	isCut       bool    // it is drawn shorter than it was
}

// scale says where on the timeline a moment is. Long times without work are drawn short, and
// very short ones with work long enough to be seen.
type scale struct{ stretches []stretch }

// shift is the time in which a bar is drawn: that of its execution, but never none at all,
// and never before the bar to its left has ended.
type shift struct{ from, to time.Time }

// shifts returns where the bars of all executions are, by their numbers.
func shifts(r *insight.Report) map[int]shift {
	list := slices.Clone(r.Executions)
	slices.SortStableFunc(list, func(a, b report.Exec) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.N, b.N))
	})
	last, out := map[string]time.Time{}, make(map[int]shift, len(list))
	for _, e := range list {
		s := shift{from: later(e.Started, last[e.Agent]), to: e.Ended}
		if e.Ended.IsZero() {
			s.to = r.Finished
		}
		s.to = later(s.to, s.from.Add(time.Millisecond))
		last[e.Agent], out[e.N] = s.to, s
	}
	return out
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// newScale makes a scale of the times in which bars are drawn.
func newScale(bars map[int]shift) scale {
	stretches := cutUp(bars)
	var busy, least float64
	pauses := 0
	for _, s := range stretches {
		if s.isPause {
			pauses++
		} else {
			busy += s.to.Sub(s.from).Seconds()
		}
	}
	least = busy / float64(3*max(1, len(stretches)-pauses))
	most := min(busy*shareOfPause, busy*shareOfPauses/float64(max(1, pauses)))
	sum := 0.0
	for i := range stretches {
		s := &stretches[i]
		s.width = s.to.Sub(s.from).Seconds()
		if s.isPause {
			s.isCut = s.width > most
			s.width = min(s.width, most)
		} else {
			s.width = max(s.width, least)
		}
		s.left = sum
		sum += s.width
	}
	for i := range stretches {
		stretches[i].left /= sum
		stretches[i].width /= sum
	}
	return scale{stretches}
}

// cutUp returns the times between all moments at which a bar begins or ends, in order.
func cutUp(bars map[int]shift) []stretch {
	changes := map[time.Time]int{} // how many more bars there are from then on
	for _, b := range bars {
		changes[b.from.UTC()]++
		changes[b.to.UTC()]--
	}
	moments := make([]time.Time, 0, len(changes))
	for t := range changes {
		moments = append(moments, t)
	}
	slices.SortFunc(moments, time.Time.Compare)
	var out []stretch
	open := 0
	for i, t := range moments[:max(0, len(moments)-1)] {
		open += changes[t]
		out = append(out, stretch{from: t, to: moments[i+1], isPause: open == 0})
	}
	return out
}

// at returns the place of a moment, from 0 to whole.
func (s scale) at(t time.Time) int {
	if len(s.stretches) == 0 {
		return 0
	}
	i, _ := slices.BinarySearchFunc(s.stretches, t, func(x stretch, t time.Time) int { return x.to.Compare(t) })
	if i == len(s.stretches) {
		return whole
	}
	x := s.stretches[i]
	part := t.Sub(x.from).Seconds() / x.to.Sub(x.from).Seconds()
	return int((x.left + x.width*min(1, max(0, part))) * whole)
}

// tick is a moment that the axis names.
type tick struct {
	Left int
	Text string
}

// apart is how far the moments that the axis names are apart.
const apart = whole / 8

// ticks returns moments that lie apart on the timeline: with seconds within a day, else with the
// date where one begins.
func (s scale) ticks() []tick {
	var out []tick
	day := ""
	for left := 0; left < whole-apart/2 && len(s.stretches) > 0; left += apart {
		t := s.moment(left).UTC()
		text := t.Format("15:04:05")
		if today := t.Format("2 Jan "); s.moment(0).UTC().YearDay() != s.moment(whole).UTC().YearDay() {
			if text = t.Format("15:04"); today != day {
				text, day = today+text, today
			}
		}
		out = append(out, tick{left, text})
	}
	return out
}

// moment is the inverse of at.
func (s scale) moment(left int) time.Time {
	place := float64(left) / whole
	i, isThere := slices.BinarySearchFunc(s.stretches, place, func(x stretch, place float64) int { return cmp.Compare(x.left, place) })
	if !isThere {
		i--
	}
	x := s.stretches[i]
	return x.from.Add(time.Duration((place - x.left) / x.width * float64(x.to.Sub(x.from))))
}

// pauses returns the times without work that are drawn shorter than they were.
func (s scale) pauses() []band {
	var out []band
	for _, x := range s.stretches {
		if x.isCut {
			out = append(out, band{int(x.left * whole), max(1, int(x.width*whole)), "nothing ran for " + report.Span(x.to.Sub(x.from))})
		}
	}
	return out
}
