package state

import (
	"fmt"
	"time"
)

// DefaultOverloadWait is how long failures of the service are waited out where a run
// does not say.
const DefaultOverloadWait = 10 * time.Minute

// maxOutageBackoff is the longest wait between two tries while the service fails; the
// first is firstBackoff, and it doubles from there.
const maxOutageBackoff = time.Minute

// Outage is a row of failures of the service that an agent waits out, in one
// process. They are no failures of its state, and no retries are counted.
type Outage struct {
	Since time.Time `json:"since"` // the first of them
	N     int       `json:"n"`     // how many there were
}

// waitForService is how long failures of the service are waited out; 0 counts them
// like others.
func (o *Options) waitForService() time.Duration {
	if o.OverloadWait == nil {
		return DefaultOverloadWait
	}
	return time.Duration(*o.OverloadWait)
}

// outlast makes an agent wait because the service failed, and reports false when
// that is not to be waited for, or no longer. It adds to f why no longer.
func (s *Step) outlast(a *Agent, f *Failure) bool {
	limit := s.Options().waitForService()
	if f.Class != Service || limit == 0 {
		return false
	}
	o := Outage{Since: s.now.UTC().Round(0)}
	if a.Outage != nil {
		o = *a.Outage
	}
	o.N++
	over := min(o.Since.Add(limit).Sub(s.now), limit) // a clock that was put back can't make it longer
	asked := f.NotBefore.Sub(s.now)
	switch {
	case over <= 0:
		f.Message += fmt.Sprintf(" (the service has failed for the %s of --overload-wait)", limit)
		return false
	case asked > over:
		f.Message += fmt.Sprintf(" (the service asks for a wait until %s, which is beyond the %s of --overload-wait)",
			f.NotBefore.UTC().Format("2006-01-02 15:04:05 UTC"), limit)
		return false
	}
	backoff := min(firstBackoff<<min(o.N-1, 20), maxOutageBackoff)
	wait := min(max(backoff, asked), over)
	a.Outage = &o
	a.Exec.undo()
	s.pause(a, wait)
	s.emit(a, &Retry{N: o.N, Error: f.Message, BackoffMS: wait.Milliseconds(), Service: true})
	return true
}

// recover ends the row of failures of the service when an invocation ended otherwise.
func (a *Agent) recover(f *Failure) {
	if f == nil || f.Class != Service && f.Class != Stopped {
		a.Outage = nil
	}
}
