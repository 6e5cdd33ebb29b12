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

// Stops are the reasons to end a run: signals, and further ones in a job. The methods may be called concurrently.
type Stops struct {
	Requested context.Context // done when there is a reason to end the run
	ask       context.CancelFunc
	reasons   chan string
	code      atomic.Int32 // exit code of the signal that cancelled the run
	at        atomic.Int64 // when the first reason came, in nanoseconds of the epoch
	orphaned  atomic.Bool
}

// StopOptions are the sources of reasons to end a run besides the signals of this process.
type StopOptions struct {
	ParentGone <-chan struct{} // closed when the process that started the run is gone; nil: never
	Reasons    <-chan string   // further reasons to end the run; nil: none
	InJob      bool            // the signals come from a CI runner
	// Signals replaces the signals of this process; nil: they are caught.
	Signals <-chan os.Signal
}

// Listen begins to wait for reasons to end a run, until the process ends.
func Listen(o StopOptions) *Stops {
	s := &Stops{reasons: make(chan string, 4)}
	s.Requested, s.ask = context.WithCancel(context.Background())
	if o.Signals == nil {
		raw := make(chan os.Signal, 4)
		signal.Notify(raw, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		// A reader of our output that goes away must not end the run. The signal is caught, not ignored, because
		// child processes would inherit that.
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
			s.handleSignal(sig, o.InJob)
		}
	}()
	return s
}

func (s *Stops) handleSignal(sig os.Signal, inJob bool) {
	name, code := "SIGTERM", int32(143)
	switch sig {
	case os.Interrupt:
		name, code = "SIGINT", 130
	case syscall.SIGHUP:
		name = "SIGHUP"
	}
	switch {
	case inJob && name == "SIGINT": // a runner sends it when a user or a time limit cancels the job
		name = "the job was cancelled (SIGINT)"
	case inJob:
		name = fmt.Sprintf("the step was ended from outside (%s)", name)
	}
	s.end(name, code)
}

func (s *Stops) end(reason string, code int32) {
	s.code.CompareAndSwap(0, code)
	s.at.CompareAndSwap(0, time.Now().UnixNano())
	s.ask()
	s.reasons <- reason
}

// Reasons returns the channel of the reasons to end the run.
func (s *Stops) Reasons() <-chan string { return s.reasons }

// ExitCode returns the exit code for the signal that ended the run; 0 if none did.
func (s *Stops) ExitCode() int { return int(s.code.Load()) }

// Since returns how long ago the run was first asked to end; it is negative if the run was not, and for nil Stops.
func (s *Stops) Since() time.Duration {
	if s == nil || s.at.Load() == 0 {
		return -1
	}
	return time.Since(time.Unix(0, s.at.Load()))
}

// IsOrphaned reports whether the process that started the run is gone, so that no post phase follows.
func (s *Stops) IsOrphaned() bool { return s != nil && s.orphaned.Load() }
