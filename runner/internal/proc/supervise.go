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

// watch ends one child when it is time to.
type watch struct {
	c      *child
	ended  EndReason
	ladder Ladder
	next   int         // rung to step on; 0: not ending
	due    time.Time   // of that step
	timer  *time.Timer // fires then
}

// supervise waits for the child, ends it if need be, and clears up behind it.
func (c *child) supervise(ctx context.Context) Exit {
	w := &watch{c: c, ladder: c.options.Ladder, timer: time.NewTimer(time.Hour)}
	w.timer.Stop()
	w.untilExit(ctx)
	exit := c.kin.finish(w.ended != ByItself)
	if c.in.SetWriteDeadline(time.Unix(1, 0)) == nil { // whoever still holds the other end
		<-c.fed
	}
	c.drainOne(c.out)
	c.drainOne(c.err)
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
	defer w.timer.Stop()
	reap := time.NewTicker(reapEvery)
	defer reap.Stop()
	stopped, finished, failed := ctx.Done(), w.c.options.Finished, w.c.out.failed
	timeout, idle := after(w.c.options.Timeout), after(w.c.options.Idle)
	for {
		select {
		case <-exited:
			return
		case <-stopped:
			stopped = nil
			w.end(ByStop, w.patience(context.Cause(ctx)))
		case <-finished:
			finished, timeout, idle = nil, nil, nil
			w.end(ByLateExit, w.ladder)
		case <-failed:
			failed = nil
			w.end(ByWriter, w.ladder)
		case <-timeout:
			w.end(ByTimeout, w.ladder)
		case <-idle:
			if idle = after(w.c.options.Idle - w.idle()); idle == nil {
				w.end(ByIdle, w.ladder)
			}
		case <-w.timer.C:
			w.climb()
		case <-reap.C:
			reapStrays()
		}
	}
}

// idle is how long the child could have written something and has not.
func (w *watch) idle() time.Duration {
	if w.c.options.LastWait == nil {
		return w.c.silence()
	}
	return min(w.c.silence(), time.Since(w.c.options.LastWait()))
}

// after is time.After, and never for a time that is not above zero.
func after(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	return time.After(d)
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
func (w *watch) end(why EndReason, l Ladder) {
	switch {
	case w.next > 0:
		w.ladder = Ladder{Term: min(w.ladder.Term, l.Term), Kill: min(w.ladder.Kill, l.Kill)}
		if at := w.nextStep(); w.next < len(rungs) && at.Before(w.due) {
			w.arm(at)
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
		w.arm(w.nextStep())
	}
}

// arm sets the time of the next step.
func (w *watch) arm(at time.Time) {
	w.due = at
	w.timer.Reset(time.Until(at))
}

// nextStep is when the next rung is due, counted from now.
func (w *watch) nextStep() time.Time {
	if w.next == 1 {
		return time.Now().Add(w.ladder.Term)
	}
	return time.Now().Add(w.ladder.Kill)
}
