package proc

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// reapEvery bounds how many dead orphans of a long-lived child pile up.
const reapEvery = 5 * time.Second

// rungs are the signals of a ladder, in order.
var rungs = [...]syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL}

// watch ends one child when it is time to. A zero time never comes.
type watch struct {
	c      *child
	ended  End
	ladder Ladder
	next   int       // rung to step on; 0: not ending
	due    time.Time // of that step

	timeout, idle, reap time.Time
}

// supervise waits for the child, ends it if need be, and clears up behind it.
func (c *child) supervise(ctx context.Context) Exit {
	w := c.newWatch()
	c.untilExit(ctx, w)
	return c.conclude(w.ended)
}

// conclude collects a child that has exited and everything it left behind.
func (c *child) conclude(ended End) Exit {
	exit := c.kin.finish(ended != ByItself)
	c.drain()
	exit.Ended, exit.StderrTail = ended, c.tail.Bytes()
	return exit
}

func (c *child) newWatch() *watch {
	w := &watch{c: c, reap: c.began.Add(reapEvery)}
	if t := c.options.Timeout; t > 0 {
		w.timeout = c.began.Add(t)
	}
	if t := c.options.Idle; t > 0 {
		w.idle = c.began.Add(t)
	}
	return w
}

// alarm is the time at which there is something to do next.
func (w *watch) alarm() time.Time {
	at := w.reap
	for _, t := range []time.Time{w.due, w.timeout, w.idle} {
		if !t.IsZero() && t.Before(at) {
			at = t
		}
	}
	return at
}

// ring does what is due.
func (w *watch) ring(now time.Time) {
	if take(&w.reap, now) {
		w.reap = now.Add(reapEvery)
		reapStrays()
	}
	if take(&w.timeout, now) {
		w.end(ByTimeout, w.c.options.Ladder)
	}
	if take(&w.idle, now) {
		w.lookForOutput()
	}
	if take(&w.due, now) {
		w.climb()
	}
}

// take reports whether a time has come, and forgets it then.
func take(at *time.Time, now time.Time) bool {
	if at.IsZero() || now.Before(*at) {
		return false
	}
	*at = time.Time{}
	return true
}

// stopped is called when the context is done.
func (w *watch) stopped(ctx context.Context) { w.end(ByStop, w.ladderOf(context.Cause(ctx))) }

// refused is called when Options.Stdout takes no more.
func (w *watch) refused() { w.end(ByWriter, w.c.options.Ladder) }

func (w *watch) ladderOf(cause error) Ladder {
	var p interface {
		Patience() (term, kill time.Duration)
	}
	if !errors.As(cause, &p) {
		return w.c.options.Ladder
	}
	term, kill := p.Patience()
	return Ladder{Term: term, Kill: kill}
}

// finished is called when all that matters was said, and the child has not exited since.
func (w *watch) finished() {
	w.timeout, w.idle = time.Time{}, time.Time{}
	w.end(ByLateExit, w.c.options.Ladder)
}

// lookForOutput ends the child when it was silent for too long.
func (w *watch) lookForOutput() {
	wait := w.c.options.Idle - w.c.silence()
	if wait <= 0 {
		w.end(ByIdle, w.c.options.Ladder)
		return
	}
	w.idle = time.Now().Add(wait)
}

// end begins to end the child. When that has begun already it is only hastened.
func (w *watch) end(why End, l Ladder) {
	if l == (Ladder{}) {
		l = DefaultLadder
	}
	if w.next > 0 {
		w.hasten(l)
		return
	}
	if w.c.kin.exited() {
		return // it was faster
	}
	w.ended, w.ladder = why, l
	w.climb()
}

// hasten makes the ladder at most as slow as l, from now on.
func (w *watch) hasten(l Ladder) {
	w.ladder = Ladder{Term: min(w.ladder.Term, l.Term), Kill: min(w.ladder.Kill, l.Kill)}
	if w.next < len(rungs) && time.Now().Add(w.wait()).Before(w.due) {
		w.arm()
	}
}

// climb sends the next signal and arms the one after it.
func (w *watch) climb() {
	w.c.kin.signal(rungs[w.next], w.c.options.InterruptGroup)
	w.next++
	if w.next < len(rungs) {
		w.arm()
	}
}

// wait is the time before the next rung.
func (w *watch) wait() time.Duration {
	if w.next == 1 {
		return w.ladder.Term
	}
	return w.ladder.Kill
}

func (w *watch) arm() {
	w.due = time.Now().Add(w.wait())
}
