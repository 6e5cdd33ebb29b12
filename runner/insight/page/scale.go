package page

import (
	"cmp"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/runner/report"
)

// fullWidth is the width of the timeline. Offsets and widths are in hundredths of a percent of it.
const fullWidth = 10_000

// A pause is a time in which no execution runs. Each pause is drawn at most shareOfPause times as
// wide as all other times together, and all pauses together at most shareOfPauses times as wide.
const (
	shareOfPause  = 0.05
	shareOfPauses = 0.3
)

// interval is the time between two consecutive moments at which a bar starts or ends. It also
// contains the place of that time on the timeline.
type interval struct {
	from, to    time.Time
	left, width float64 // offset and width, as fractions of the timeline
	isPause     bool    // no execution ran
	isCut       bool    // the interval is drawn shorter than its duration
}

// scale maps times to offsets on the timeline. Long pauses are drawn shorter, and very short
// intervals in which an execution runs are drawn wide enough to be visible.
type scale struct{ intervals []interval }

// barTime is the time that the bar of an execution covers: the duration of the execution, but at
// least a millisecond. It does not start before the end of the agent's previous bar.
type barTime struct{ from, to time.Time }

// barTimes returns the times of the bars of all executions, by the numbers of the executions.
func barTimes(r *insight.Report) map[int]barTime {
	list := slices.Clone(r.Executions)
	slices.SortStableFunc(list, func(a, b report.Exec) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.N, b.N))
	})
	last, out := map[string]time.Time{}, make(map[int]barTime, len(list))
	for _, e := range list {
		s := barTime{from: later(e.Started, last[e.Agent]), to: e.Ended}
		if e.Ended.IsZero() {
			s.to = r.Finished
		}
		s.to = later(s.to, s.from.Add(time.Millisecond))
		last[e.Agent], out[e.N] = s.to, s
	}
	return out
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// newScale returns the scale for the given bars.
func newScale(bars map[int]barTime) scale {
	stretches := intervals(bars)
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

// intervals returns the intervals between all moments at which a bar starts or ends, in order.
func intervals(bars map[int]barTime) []interval {
	changes := map[time.Time]int{} // change in the number of running executions
	for _, b := range bars {
		changes[b.from.UTC()]++
		changes[b.to.UTC()]--
	}
	moments := make([]time.Time, 0, len(changes))
	for t := range changes {
		moments = append(moments, t)
	}
	slices.SortFunc(moments, time.Time.Compare)
	var out []interval
	open := 0
	for i, t := range moments[:max(0, len(moments)-1)] {
		open += changes[t]
		out = append(out, interval{from: t, to: moments[i+1], isPause: open == 0})
	}
	return out
}

// at returns the offset of a time on the timeline, from 0 to fullWidth.
func (s scale) at(t time.Time) int {
	if len(s.intervals) == 0 {
		return 0
	}
	i, _ := slices.BinarySearchFunc(s.intervals, t, func(x interval, t time.Time) int { return x.to.Compare(t) })
	if i == len(s.intervals) {
		return fullWidth
	}
	x := s.intervals[i]
	part := t.Sub(x.from).Seconds() / x.to.Sub(x.from).Seconds()
	return int((x.left + x.width*min(1, max(0, part))) * fullWidth)
}

// tick is a label on the axis. Left is its offset.
type tick struct {
	Left int
	Text string
}

// minTickGap is the minimum distance between two labels on the axis. After a label that contains a
// date, which is wider, the minimum distance is minDateGap.
const (
	minTickGap = fullWidth / 12
	minDateGap = fullWidth / 7
)

// tickUnits lists the possible times between two labels.
var tickUnits = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
	10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// ticks returns the labels of the axis: the start of the run, and round times. If the run takes
// several days, the first label of each day contains the date.
func (s scale) ticks() []tick {
	if len(s.intervals) == 0 {
		return nil
	}
	const date = "2 Jan "
	from, to := s.intervals[0].from.UTC(), s.intervals[len(s.intervals)-1].to.UTC()
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
		at, text, distance := s.at(t), t.UTC().Format(layout), minTickGap
		if at < next || at > fullWidth-minTickGap/2 {
			return
		}
		if today := t.UTC().Format(date); today != day {
			day, text, distance = today, today+text, minDateGap
		}
		out, next = append(out, tick{at, text}), at+distance
	}
	add(from)
	for _, x := range s.intervals {
		for t := x.from.Truncate(unit).Add(unit); !x.isCut && !t.After(x.to); t = t.Add(unit) {
			add(t)
		}
	}
	return out
}

// unit returns the time between two labels that results in about eight labels.
func (s scale) unit() time.Duration {
	var busy time.Duration
	for _, x := range s.intervals {
		if !x.isCut {
			busy += x.to.Sub(x.from)
		}
	}
	i := slices.IndexFunc(tickUnits, func(unit time.Duration) bool { return busy <= 10*unit })
	if i < 0 {
		i = len(tickUnits) - 1
	}
	return tickUnits[i]
}
