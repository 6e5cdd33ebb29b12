package proc

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// reapInterval is how often dead orphans are collected, so that a long-running child doesn't accumulate
// many of them.
const reapInterval = 5 * time.Second

// signals are the signals of a Ladder, in the order in which they are sent.
var signals = [...]syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL}

// ender ends one child when there is a reason to do so.
type ender struct {
	c *child
	// ended is the reason for which the child is being ended; see Exit.Ended.
	ended  EndReason
	ladder Ladder
	next   int         // index of the next signal; 0 means that the child is not being ended
	due    time.Time   // when the next signal is sent
	timer  *time.Timer // fires at due
}

// supervise waits until the child has exited, and ends the child if there is a reason to. After that, it
// ends the processes that the child left behind.
func (c *child) supervise(ctx context.Context) Exit {
	w := &ender{c: c, ladder: c.options.Ladder, timer: time.NewTimer(time.Hour)}
	w.timer.Stop()
	w.untilExit(ctx)
	exit := c.process.finish(w.ended != ByItself)
	// Another process may still have the child's end of the stdin pipe open, so stop writing Stdin.
	if c.in.SetWriteDeadline(time.Unix(1, 0)) == nil {
		<-c.fed
	}
	c.drain(c.out)
	c.drain(c.err)
	exit.Ended, exit.StderrTail = w.ended, c.tail.Bytes()
	return exit
}

// untilExit waits until the child has exited. It ends the child if there is a reason to.
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
			ladder := w.ladder
			var cause interface { // a cause that requests another Ladder
				Patience() (term, kill time.Duration)
			}
			if errors.As(context.Cause(ctx), &cause) {
				ladder.Term, ladder.Kill = cause.Patience()
			}
			w.end(ByStop, ladder)
		case <-finished:
			finished, timeout, idle = nil, nil, nil
			w.end(ByLateExit, w.ladder)
		case <-failed:
			failed = nil
			w.end(ByWriter, w.ladder)
		case <-timeout:
			w.end(ByTimeout, w.ladder)
		case <-idle:
			quiet := w.c.sinceOutput()
			if lastWait := w.c.options.LastWait; lastWait != nil {
				quiet = min(quiet, time.Since(lastWait()))
			}
			if idle = after(w.c.options.Idle - quiet); idle == nil {
				w.end(ByIdle, w.ladder)
			}
		case <-w.timer.C:
			w.sendNext()
		case <-reap.C:
			reapStrays()
		}
	}
}

// after is like time.After, but returns nil if d is zero or negative. A nil channel never receives a time.
func after(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	return time.After(d)
}

// end begins to end the child. If the child is being ended already, end can only make that faster: from
// then on, the Ladder is at most as slow as l. If the child has exited, end does nothing.
func (w *ender) end(why EndReason, l Ladder) {
	switch {
	case w.next > 0:
		w.ladder = Ladder{Term: min(w.ladder.Term, l.Term), Kill: min(w.ladder.Kill, l.Kill)}
		if at := w.nextStep(); w.next < len(signals) && at.Before(w.due) {
			w.setTimer(at)
		}
	case !w.c.process.exited(): // otherwise the child has exited by itself
		w.ended, w.ladder = why, l
		w.sendNext()
	}
}

// sendNext sends the next signal and sets the timer for the signal after it.
func (w *ender) sendNext() {
	w.c.process.signal(signals[w.next], w.c.options.InterruptGroup)
	if w.next++; w.next < len(signals) {
		w.setTimer(w.nextStep())
	}
}

// setTimer sets the timer for the next signal.
func (w *ender) setTimer(at time.Time) {
	w.due = at
	w.timer.Reset(time.Until(at))
}

// nextStep returns when the next signal is due if the previous one was sent now.
func (w *ender) nextStep() time.Time {
	if w.next == 1 {
		return time.Now().Add(w.ladder.Term)
	}
	return time.Now().Add(w.ladder.Kill)
}
