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
	w := &watch{c: c, ladder: c.options.Ladder, reap: c.began.Add(reapEvery)}
	if t := c.options.Timeout; t > 0 {
		w.timeout = c.began.Add(t)
	}
	if t := c.options.Idle; t > 0 {
		w.idle = c.began.Add(t)
	}
	w.untilExit(ctx)
	exit := c.kin.finish(w.ended != ByItself)
	c.drain()
	exit.Ended, exit.StderrTail = w.ended, c.tail.Bytes()
	return exit
}

// untilExit returns when the child has exited, by itself or because it was ended.
func (w *watch) untilExit(ctx context.Context) {
	exited := make(chan struct{})
	go func() {
		w.c.kin.await()
		close(exited)
	}()
	timer := time.NewTimer(time.Until(w.alarm()))
	defer timer.Stop()
	stopped, finished, failed := ctx.Done(), w.c.options.Finished, w.c.out.failed
	for {
		select {
		case <-exited:
			return
		case <-stopped:
			stopped = nil
			w.end(ByStop, w.patience(context.Cause(ctx)))
		case <-finished:
			finished = nil
			w.timeout, w.idle = time.Time{}, time.Time{}
			w.end(ByLateExit, w.ladder)
		case <-failed:
			failed = nil
			w.end(ByWriter, w.ladder)
		case <-timer.C:
			w.ring(time.Now())
		}
		timer.Reset(time.Until(w.alarm()))
	}
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
		w.end(ByTimeout, w.ladder)
	}
	if take(&w.idle, now) {
		if wait := w.c.options.Idle - w.c.silence(); wait > 0 {
			w.idle = now.Add(wait)
		} else {
			w.end(ByIdle, w.ladder)
		}
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

// patience is the ladder that the cause of a stop asks for, or that of the options.
func (w *watch) patience(cause error) Ladder {
	var p interface {
		Patience() (term, kill time.Duration)
	}
	if !errors.As(cause, &p) {
		return w.ladder
	}
	term, kill := p.Patience()
	return Ladder{Term: term, Kill: kill}
}

// end begins to end the child. When that has begun already it is only hastened: the ladder is at most as slow as l
// from now on.
func (w *watch) end(why End, l Ladder) {
	switch {
	case w.next > 0:
		w.ladder = Ladder{Term: min(w.ladder.Term, l.Term), Kill: min(w.ladder.Kill, l.Kill)}
		if at := w.nextStep(); at.Before(w.due) {
			w.due = at
		}
	case !w.c.kin.exited(): // else it was faster
		w.ended, w.ladder = why, l
		w.climb()
	}
}

// climb sends the next signal and arms the one after it.
func (w *watch) climb() {
	w.c.kin.signal(rungs[w.next], w.c.options.InterruptGroup)
	if w.next++; w.next < len(rungs) {
		w.due = w.nextStep()
	}
}

// nextStep is when the next rung is due, counted from now.
func (w *watch) nextStep() time.Time {
	if w.next == 1 {
		return time.Now().Add(w.ladder.Term)
	}
	return time.Now().Add(w.ladder.Kill)
}
