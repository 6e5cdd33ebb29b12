package page

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestAxisHasRoundTimes checks the labels on the axis: the start of the run, and round times. There
// must be no label inside a shortened pause. If the run takes several days, labels must contain the
// date.
func TestAxisHasRoundTimes(t *testing.T) {
	begin := time.Date(2026, 3, 9, 9, 14, 3, 0, time.UTC)
	for _, c := range []struct {
		pause, work time.Duration
		want        string
	}{
		{0, 300 * time.Millisecond, "09:14:03"},
		{0, 12 * time.Second, "09:14:03 09:14:05 09:14:10 09:14:15 09:14:20 09:14:25"},
		{0, 30 * time.Minute, "09:14 09:20 09:30 09:40 09:50 10:00 10:10"},
		{19 * time.Hour, 30 * time.Minute, "9 Mar 09:14 09:30 09:40 10 Mar 04:50 05:00 05:10"},
	} {
		again := begin.Add(c.work + c.pause)
		s := newScale(map[int]barTime{1: {begin, begin.Add(c.work)}, 2: {again, again.Add(c.work)}})
		var got []string
		for _, tick := range s.ticks() {
			got = append(got, tick.Text)
		}
		assert.Check(t, is.Equal(strings.Join(got, " "), c.want), "work of %v, a pause of %v", c.work, c.pause)
	}
}
