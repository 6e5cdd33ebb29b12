package report

import (
	"fmt"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// The intervals at which a Console updates its display.
const (
	redrawEvery   = 100 * time.Millisecond
	progressEvery = 30 * time.Second
	maxLive       = 10 // number of live lines; a block that is higher than the screen can't be erased
)

// display draws the live lines, a block of lines at the bottom of a terminal. The cursor is always
// at the start of the line below the block.
type display struct {
	drawn int       // number of live lines on the screen
	at    time.Time // when the block was last drawn
}

// frame returns the bytes that erase the live lines, print the output in out, and draw the live lines
// again. The live lines are drawn at most once per redrawEvery. If output is printed before that time
// has passed, the live lines stay erased until a later call draws them.
func (d *display) frame(out []byte, now time.Time, live []string) []byte {
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
	for _, l := range live {
		frame = append(append(frame, l...), '\n')
		d.drawn++
	}
	return frame
}

// erase returns the bytes that move the cursor to the top of the block and clear the screen below
// it. They start with a carriage return, because the terminal echoes typed keys, such as ^C, at the
// cursor.
func (d *display) erase() []byte {
	if d.drawn == 0 {
		return nil
	}
	n := d.drawn
	d.drawn = 0
	return fmt.Appendf(nil, "\r\x1b[%dA\x1b[J", n)
}

// liveLines returns a line about each active agent, shortened to the width of the terminal. It
// returns at most maxLive lines and one line with the number of other agents.
func (c *Console) liveLines() []string {
	var lines []string
	for i, v := range c.active {
		if i == maxLive {
			return append(lines, fmt.Sprintf("  and %d more", len(c.active)-i))
		}
		text := fmt.Sprintf("%s  %s  %s  %6s  %7s", pad(name(v.id), c.layout.agentColumn), pad(name(v.state), c.layout.stateColumn),
			pad(string(markRunning), markColumn), formatClock(c.now.Sub(v.started)), c.model.agents[v.id].Spent.Spent)
		if words := v.activity.text(c.now, func(text string) string { return text }); words != "" {
			text += "  " + words
		}
		lines = append(lines, head(text, c.o.Width-1))
	}
	return lines
}

// progress returns a line with an agent's activity, the time since its state started, and the cost
// of the run.
func (c *Console) progress(v *agentView) string {
	text := name(v.id) + " at " + name(v.state) + ": working for " + formatClock(c.now.Sub(v.started))
	if v.attempt > 0 {
		text += fmt.Sprintf(", attempt %d", v.attempt+1)
	}
	if spent := c.model.total(); spent != (state.Spent{}) {
		text += ", " + c.model.withBudget(spent) + " spent"
	}
	dim := func(text string) string { return c.layout.colorize(markStart, text) }
	if words := v.activity.text(c.now, dim); words != "" {
		return dim(text+"; ") + words
	}
	return dim(text)
}

// SetLive turns the live lines of a Console on or off. While they are off, only complete lines are
// written, so that a user can type into the terminal.
func (c *Console) SetLive(live bool) error {
	if live == c.o.Terminal {
		return nil
	}
	if live {
		c.o.Terminal = true
		return c.flush()
	}
	_, err := c.w.Write(append(c.live.erase(), c.out...))
	c.out, c.o.Terminal = c.out[:0], false
	return err
}
