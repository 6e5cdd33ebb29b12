package state

import (
	"fmt"
	"time"
)

// DefaultOverloadWait is how long failures of the service are waited out when the
// options of a run don't say.
const DefaultOverloadWait = 10 * time.Minute

// maxOutageBackoff is the longest wait between two tries while the service fails; the
// first is firstBackoff, and it doubles from there.
const maxOutageBackoff = time.Minute

// SuspendOnOverload is the value of Options.OnOverload that suspends the run.
const SuspendOnOverload = "suspend"

// How long a run is suspended because the service fails: the first time, and at most,
// since it doubles from time to time; and how often in a row.
const (
	firstSuspension   = 15 * time.Minute
	longestSuspension = 4 * time.Hour
	maxSuspensions    = 6
)

// Outage is a row of failures of the service that an agent waits out in this process. They are
// not counted as retries of its state.
type Outage struct {
	Since time.Time `json:"since" is:"set"`  // of the first of them
	N     int       `json:"n" is:"positive"` // how many there were
}

// overloadWait is how long failures of the service are waited out; 0 counts them
// like others.
func (o *Options) overloadWait() time.Duration {
	if o.OverloadWait == nil {
		return DefaultOverloadWait
	}
	return time.Duration(*o.OverloadWait)
}

// waitForService makes the agent wait because the service failed, and reports false
// when that is not to be waited for, or no longer. In that case it adds the reason to f.
func (x *execution) waitForService(f *Failure) bool {
	limit := x.options.overloadWait()
	if f.Class != Service || limit == 0 {
		return false
	}
	o := Outage{Since: x.now.UTC().Round(0)}
	if x.agent.Outage != nil {
		o = *x.agent.Outage
	}
	o.N++
	left := min(o.Since.Add(limit).Sub(x.now), limit) // a clock that was put back can't make it longer
	asked := f.NotBefore.Sub(x.now)
	switch {
	case left <= 0:
		f.Message += fmt.Sprintf(" (the service has failed for the %s of overload-wait)", limit)
		return x.suspendForService(f)
	case asked > left:
		f.Message += fmt.Sprintf(" (the service asks for a wait until %s, which is beyond the %s of overload-wait)",
			f.NotBefore.UTC().Format("2006-01-02 15:04:05 UTC"), limit)
		return x.suspendForService(f)
	}
	backoff := min(firstBackoff<<min(o.N-1, 20), maxOutageBackoff)
	wait := min(max(backoff, asked), left)
	x.agent.Outage = &o
	x.agent.Exec.undoInvocation()
	x.agent.pause(x.now, wait)
	x.tell(&Retry{N: o.N, Error: f.Message, BackoffMS: wait.Milliseconds(), Service: true})
	return true
}

// suspendForService has the run suspended because the service has failed for too long,
// and reports false when the agent is to fail instead. In that case it adds the reason to
// f, if there is one. Of agents that wait for the service only the first one counts.
func (x *execution) suspendForService(f *Failure) bool {
	p := x.progress()
	switch {
	case x.options.OnOverload != SuspendOnOverload:
		return false
	case p.Hold == "" && p.Suspensions >= maxSuspensions:
		f.Message += fmt.Sprintf(" (after %s)", Count(p.Suspensions, "suspension"))
		return false
	}
	if p.Hold == "" {
		wait := min(firstSuspension<<p.Suspensions, longestSuspension)
		asked := min(f.NotBefore.Sub(x.now), longestSuspension)
		p.Hold, p.Until = f.Message, x.now.Add(max(wait, asked)).UTC().Round(0)
		p.Suspensions++
	}
	x.agent.Status = Ready
	x.agent.Exec.undoInvocation()
	return true
}
