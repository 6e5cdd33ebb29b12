package session

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// Stops receives the reasons to end a run: signals and, in a job, further reasons. The methods may be called
// concurrently.
type Stops struct {
	Requested context.Context // done when there is a reason to end the run
	ask       context.CancelFunc
	reasons   chan string
	code      atomic.Int32 // exit code of the signal that cancelled the run
	at        atomic.Int64 // when the first reason came, as Unix time in nanoseconds
	orphaned  atomic.Bool
}

// StopOptions configure the sources of reasons to end a run.
type StopOptions struct {
	ParentGone <-chan struct{} // closed when the process that started the run has ended; may be nil
	Reasons    <-chan string   // further reasons to end the run; may be nil
	InJob      bool            // the signals come from a CI runner
	// Signals replaces the signals of this process. If it is nil, the process's signals are caught.
	Signals <-chan os.Signal
}

// Listen starts to wait for reasons to end a run. It catches signals of this process until the process ends.
func Listen(o StopOptions) *Stops {
	s := &Stops{reasons: make(chan string, 4)}
	s.Requested, s.ask = context.WithCancel(context.Background())
	if o.Signals == nil {
		raw := make(chan os.Signal, 4)
		signal.Notify(raw, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		// If the reader of our output goes away, SIGPIPE must not end the run. The signal is caught and not
		// ignored, because child processes would inherit that it is ignored.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
		o.Signals = raw
	}
	go func() {
		<-o.ParentGone
		s.orphaned.Store(true)
		s.end("the runner is gone", 143)
	}()
	go func() {
		for reason := range o.Reasons {
			s.end(reason, 0)
		}
	}()
	go func() {
		for sig := range o.Signals {
			name, code := "SIGTERM", int32(143)
			switch sig {
			case os.Interrupt:
				name, code = "SIGINT", 130
			case syscall.SIGHUP:
				name = "SIGHUP"
			}
			switch {
			case o.InJob && name == "SIGINT": // a runner sends it when a user or a time limit cancels the job
				name = "the job was cancelled (SIGINT)"
			case o.InJob:
				name = fmt.Sprintf("the step was ended from outside (%s)", name)
			}
			s.end(name, code)
		}
	}()
	return s
}

// end records a reason to end the run, and the exit code if no earlier reason has set it.
func (s *Stops) end(reason string, code int32) {
	s.code.CompareAndSwap(0, code)
	s.at.CompareAndSwap(0, time.Now().UnixNano())
	s.ask()
	s.reasons <- reason
}

// Reasons returns the channel of the reasons to end the run.
func (s *Stops) Reasons() <-chan string { return s.reasons }

// ExitCode returns the exit code for the signal that ended the run. It returns 0 if no signal did.
func (s *Stops) ExitCode() int { return int(s.code.Load()) }

// Since returns the time since the first reason to end the run. It returns a negative duration if there was
// no reason yet, or if s is nil.
func (s *Stops) Since() time.Duration {
	if s == nil || s.at.Load() == 0 {
		return -1
	}
	return time.Since(time.Unix(0, s.at.Load()))
}

// IsOrphaned reports whether the process that started the run has ended. No post phase follows then.
func (s *Stops) IsOrphaned() bool { return s != nil && s.orphaned.Load() }
