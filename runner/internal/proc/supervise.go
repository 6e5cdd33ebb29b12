package proc

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// reapInterval bounds how many dead orphans of a long-running child accumulate.
const reapInterval = 5 * time.Second

// signals are the signals of a Ladder, in order.
var signals = [...]syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL}

// ender ends one child when a reason to do so occurs.
type ender struct {
	c      *child
	ended  EndReason
	ladder Ladder
	next   int         // index of the next signal; 0 means that no end has begun
	due    time.Time   // time of the next signal
	timer  *time.Timer // fires at due
}

// supervise waits for the child, ends it if necessary, and ends the processes that it left behind.
func (c *child) supervise(ctx context.Context) Exit {
	w := &ender{c: c, ladder: c.options.Ladder, timer: time.NewTimer(time.Hour)}
	w.timer.Stop()
	w.untilExit(ctx)
	exit := c.process.finish(w.ended != ByItself)
	if c.in.SetWriteDeadline(time.Unix(1, 0)) == nil { // another process may still have the other end open
		<-c.fed
	}
	c.drain(c.out)
	c.drain(c.err)
	exit.Ended, exit.StderrTail = w.ended, c.tail.Bytes()
	return exit
}

// untilExit returns when the child has exited or was ended.
func (w *ender) untilExit(ctx context.Context) {
	exited := make(chan struct{})
	go func() {
		w.c.process.await()
		close(exited)
	}()
	defer w.timer.Stop()
	reap := time.NewTicker(reapInterval)
	defer reap.Stop()
	stopped, finished, failed := ctx.Done(), w.c.options.Finished, w.c.out.failed
	timeout, idle := after(w.c.options.Timeout), after(w.c.options.Idle)
	for {
		select {
		case <-exited:
			return
		case <-stopped:
			stopped = nil
			w.end(ByStop, w.ladderFor(context.Cause(ctx)))
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
			w.sendNext()
		case <-reap.C:
			reapStrays()
		}
	}
}

// idle returns how long the child has printed nothing, without the time in which it waited for this program.
func (w *ender) idle() time.Duration {
	if w.c.options.LastWait == nil {
		return w.c.sinceOutput()
	}
	return min(w.c.sinceOutput(), time.Since(w.c.options.LastWait()))
}

// after is like time.After, but never fires if d is zero or negative.
func after(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	return time.After(d)
}

// ladderFor returns the Ladder that the cause of a stop asks for, or else the one in the options.
func (w *ender) ladderFor(cause error) Ladder {
	var p interface {
		Patience() (term, kill time.Duration)
	}
	if !errors.As(cause, &p) {
		return w.ladder
	}
	term, kill := p.Patience()
	return Ladder{Term: term, Kill: kill}
}

// end starts to end the child. If that has started already, end only makes it faster: from now on, the
// Ladder is at most as slow as l.
func (w *ender) end(why EndReason, l Ladder) {
	switch {
	case w.next > 0:
		w.ladder = Ladder{Term: min(w.ladder.Term, l.Term), Kill: min(w.ladder.Kill, l.Kill)}
		if at := w.nextStep(); w.next < len(signals) && at.Before(w.due) {
			w.setTimer(at)
		}
	case !w.c.process.exited(): // otherwise the child was faster
		w.ended, w.ladder = why, l
		w.sendNext()
	}
}

// sendNext sends the next signal and sets the timer for the one after it.
func (w *ender) sendNext() {
	w.c.process.signal(signals[w.next], w.c.options.InterruptGroup)
	if w.next++; w.next < len(signals) {
		w.setTimer(w.nextStep())
	}
}

// setTimer sets the time of the next step.
func (w *ender) setTimer(at time.Time) {
	w.due = at
	w.timer.Reset(time.Until(at))
}

// nextStep returns when the next signal is due, counted from now.
func (w *ender) nextStep() time.Time {
	if w.next == 1 {
		return time.Now().Add(w.ladder.Term)
	}
	return time.Now().Add(w.ladder.Kill)
}
