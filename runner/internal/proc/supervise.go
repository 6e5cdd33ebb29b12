package proc

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

const (
	// exitGrace is how long a child that has said everything may take to exit.
	exitGrace = 5 * time.Second
	// reapEvery bounds how many dead orphans of a long-lived child pile up.
	reapEvery = 5 * time.Second
	// stalled is how late an idle timer must be to show that this process itself
	// was stopped, and the silence with it.
	stalled = 2 * time.Second
)

// rungs are the signals of a ladder, in order.
var rungs = [...]syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL}

// watch ends one child when it is time to.
type watch struct {
	c      *child
	ended  End
	ladder Ladder
	next   int       // rung to step on; 0: not ending
	due    time.Time // of that step

	step, timeout, idle, exit *time.Timer
}

// supervise waits for the child, ends it if need be, and clears up behind it.
func (c *child) supervise(ctx context.Context) Exit {
	exited := make(chan struct{})
	go func() {
		c.kin.await()
		close(exited)
	}()
	w := c.newWatch()
	w.untilExit(ctx, exited)
	w.stop()
	return c.conclude(w.ended)
}

// conclude collects a child that has exited and everything it left behind.
func (c *child) conclude(ended End) Exit {
	finished := time.Now()
	end := c.kin.finish(ended != ByItself)
	c.stdin.stop()
	c.drain(c.stdout)
	c.drain(c.stderr)
	e := Exit{
		Code: -1, Ended: ended, Began: c.began, Finished: finished,
		StderrTail: c.tail.Bytes(), Swept: end.swept, Left: end.left,
	}
	if end.state != nil {
		e.Code, e.Signal = end.state.ExitCode(), signalName(end.state)
		e.CPU = end.state.UserTime() + end.state.SystemTime()
	}
	return e
}

// ending is what clearing up behind a child brought.
type ending struct {
	state       *os.ProcessState // nil when somebody else had collected the child
	swept, left int
}

func (c *child) newWatch() *watch {
	return &watch{
		c: c, step: timer(0), exit: timer(0),
		timeout: timer(c.options.Timeout), idle: timer(c.options.Idle),
	}
}

// timer returns a timer that never fires when d is 0.
func timer(d time.Duration) *time.Timer {
	if d > 0 {
		return time.NewTimer(d)
	}
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

func (w *watch) stop() {
	for _, t := range []*time.Timer{w.step, w.exit, w.timeout, w.idle} {
		t.Stop()
	}
}

// untilExit returns when the child has exited, by itself or because of it.
func (w *watch) untilExit(ctx context.Context, exited <-chan struct{}) {
	reap := time.NewTicker(reapEvery)
	defer reap.Stop()
	stopped, finished, failed := ctx.Done(), w.c.options.Finished, w.c.stdout.failed
	for {
		select {
		case <-exited:
			return
		case <-stopped:
			stopped = nil
			w.end(ByStop, w.ladderOf(context.Cause(ctx)))
		case <-finished:
			finished = nil
			w.finished()
		case <-failed:
			failed = nil
			w.end(ByWriter, w.c.options.Ladder)
		case <-reap.C:
			reapStrays()
		case <-w.timeout.C:
			w.end(ByTimeout, w.c.options.Ladder)
		case <-w.exit.C:
			w.end(ByLateExit, w.c.options.Ladder)
		case <-w.idle.C:
			w.lookForOutput()
		case <-w.step.C:
			w.climb()
		}
	}
}

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

// finished is called when all that matters was said: only the exit is left.
func (w *watch) finished() {
	w.timeout.Stop()
	w.idle.Stop()
	grace := w.c.options.ExitGrace
	if grace <= 0 {
		grace = exitGrace
	}
	w.exit.Reset(grace)
}

// lookForOutput ends the child when it was silent for too long.
func (w *watch) lookForOutput() {
	wait := patience(w.c.silence(), w.c.options.Idle)
	if wait <= 0 {
		w.end(ByIdle, w.c.options.Ladder)
		return
	}
	w.idle.Reset(wait)
}

// patience says how much longer a child may stay silent, which it has been for
// silence, when limit is the most. A timer that comes much too late means that
// this process did not run either and could not have heard anything.
func patience(silence, limit time.Duration) time.Duration {
	if silence > limit+stalled {
		return limit
	}
	return limit - silence
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
	w.step.Reset(w.wait())
}
