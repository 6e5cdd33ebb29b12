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

// Names on the axis are this far apart, those with a date farther.
const (
	apart     = whole / 12
	apartDate = whole / 7
)

// units are the round times of which one lies between two names on the axis.
var units = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
	10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// ticks returns the first moment, and round times that lie apart on the timeline: with the date
// where one begins, if there are several.
func (s scale) ticks() []tick {
	if len(s.stretches) == 0 {
		return nil
	}
	const date = "2 Jan "
	from, to := s.stretches[0].from.UTC(), s.stretches[len(s.stretches)-1].to.UTC()
	unit, day, layout := s.unit(), "", "15:04"
	if unit < time.Minute {
		layout = "15:04:05"
	}
	if from.YearDay() == to.YearDay() {
		day = from.Format(date)
	}
	var out []tick
	next := 0
	add := func(t time.Time) {
		at, text, distance := s.at(t), t.UTC().Format(layout), apart
		if at < next || at > whole-apart/2 {
			return
		}
		if today := t.UTC().Format(date); today != day {
			day, text, distance = today, today+text, apartDate
		}
		out, next = append(out, tick{at, text}), at+distance
	}
	add(from)
	for _, x := range s.stretches {
		for t := x.from.Truncate(unit).Add(unit); !x.isCut && !t.After(x.to); t = t.Add(unit) {
			add(t)
		}
	}
	return out
}

// unit returns the round time of which about eight fit into what is drawn in its length.
func (s scale) unit() time.Duration {
	var busy time.Duration
	for _, x := range s.stretches {
		if !x.isCut {
			busy += x.to.Sub(x.from)
		}
	}
	i := slices.IndexFunc(units, func(unit time.Duration) bool { return busy <= 10*unit })
	if i < 0 {
		i = len(units) - 1
	}
	return units[i]
}

// pauses returns the times without work that are drawn shorter than they were.
func (s scale) pauses() []band {
	var out []band
	for _, x := range s.stretches {
		if x.isCut {
			out = append(out, band{int(x.left * whole), max(1, int(x.width*whole)), "nothing ran for " + report.FormatDuration(x.to.Sub(x.from))})
		}
	}
	return out
}
