package report

import (
	"fmt"
	"time"
)

const (
	redrawEvery = 100 * time.Millisecond
	sayEvery    = 30 * time.Second
	mostLive    = 10 // live lines; a display taller than the screen can't be erased
)

// display is the block of live lines at the end of what a terminal shows. The
// cursor is at the beginning of the line below it.
type display struct {
	drawn int // lines on the screen
	at    time.Time
}

// frame returns what to write so that out is above the live lines. The block is
// drawn again only redrawEvery; if something is written in between, it is erased
// until then.
func (d *display) frame(out []byte, now time.Time, live func() []string) []byte {
	since := now.Sub(d.at)
	due := since < 0 || since >= redrawEvery
	if len(out) == 0 && !due {
		return nil
	}
	frame := append(d.erase(), out...)
	if !due {
		return frame
	}
	d.at = now
	for _, l := range live() {
		frame = append(append(frame, l...), '\n')
		d.drawn++
	}
	return frame
}

// erase moves the cursor to the top of the block and clears from there on.
func (d *display) erase() []byte {
	if d.drawn == 0 {
		return nil
	}
	n := d.drawn
	d.drawn = 0
	return fmt.Appendf(nil, "\x1b[%dA\x1b[J", n)
}

// liveLines returns a line for each active agent, each in one row of the terminal.
func (c *Console) liveLines() []string {
	var lines []string
	for i, v := range c.active {
		if i == mostLive {
			return append(lines, fmt.Sprintf("  and %d more", len(c.active)-i))
		}
		text := fmt.Sprintf("%s  %s  %s  %6s  %7s", pad(name(v.id), c.layout.agentColumn), pad(name(v.state), c.layout.stateColumn),
			pad(string(running), markColumn), clock(c.now.Sub(v.began)), v.spent.Plus(v.attempts))
		if v.note != "" {
			text += "  " + v.note
		}
		lines = append(lines, head(text, c.o.Width-1))
	}
	return lines
}

// sayWhoRuns prints a line for each agent about which nothing was said for long, or
// for which that would be so at the next tick, tick from now.
func (c *Console) sayWhoRuns(tick time.Duration) {
	tick = min(tick, sayEvery)
	for _, v := range c.active {
		last := v.began
		if v.said.After(last) {
			last = v.said
		}
		if c.now.Sub(last)+tick <= sayEvery {
			continue
		}
		v.said = c.now
		text := fmt.Sprintf("still running: %s %s %s, %s so far\n", name(v.id), name(v.state),
			clock(c.now.Sub(v.began)), v.spent.Plus(v.attempts))
		c.out = append(c.out, text...)
	}
}
