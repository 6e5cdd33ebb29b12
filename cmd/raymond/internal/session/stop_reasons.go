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

// Stops are the reasons to end a run from outside: signals, and what a job has
// besides them. They are safe for use by several goroutines.
type Stops struct {
	Requested context.Context // ends when the run is first asked to end
	ask       context.CancelFunc
	reasons   chan string
	code      atomic.Int32 // exit code of the signal that cancelled the run
	at        atomic.Int64 // when it came, in nanoseconds of the epoch
	orphaned  atomic.Bool
}

// StopOptions are what ends a run of a job besides signals.
type StopOptions struct {
	ParentGone <-chan struct{} // closed when who started the run is gone; nil for never
	Reasons    <-chan string   // brings reasons to end the run; nil for none
	InJob      bool            // the signals are those of a CI runner
	// Signals brings signals; nil has those caught that the process gets.
	Signals <-chan os.Signal
}

// Listen begins to wait for reasons to end a run. It does so until the process ends.
func Listen(o StopOptions) *Stops {
	s := &Stops{reasons: make(chan string, 4)}
	s.Requested, s.ask = context.WithCancel(context.Background())
	if o.Signals == nil {
		raw := make(chan os.Signal, 4)
		signal.Notify(raw, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		// A reader of our output that goes away must not end the run. Caught, not
		// ignored: children would inherit that.
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
			s.signalled(sig, o.InJob)
		}
	}()
	return s
}

func (s *Stops) signalled(sig os.Signal, inJob bool) {
	name, code := "SIGTERM", int32(143)
	switch sig {
	case os.Interrupt:
		name, code = "SIGINT", 130
	case syscall.SIGHUP:
		name = "SIGHUP"
	}
	switch {
	case inJob && name == "SIGINT": // a runner sends it when somebody, or a time limit, cancels the job
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

// Reasons brings the reasons to end the run, as they come.
func (s *Stops) Reasons() <-chan string { return s.reasons }

// ExitCode is that of the signal which ended the run; 0 when none did.
func (s *Stops) ExitCode() int { return int(s.code.Load()) }

// Since is how long ago the run was first asked to end; negative when it was not, and for nil Stops, which nothing
// is waited for.
func (s *Stops) Since() time.Duration {
	if s == nil || s.at.Load() == 0 {
		return -1
	}
	return time.Since(time.Unix(0, s.at.Load()))
}

// IsOrphaned reports whether who started the run is gone: nobody comes after us.
func (s *Stops) IsOrphaned() bool { return s != nil && s.orphaned.Load() }
