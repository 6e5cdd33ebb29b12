package invarianttest

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// saved checks every saved run. It must be valid, it must not be older than the run saved before it, and
// its agents must be where the log says they were when the run was saved. Runs in checkpoints must be valid.
func (f *findings) saved(ev Evidence, w *walk) {
	seq := 0
	for i, r := range append(slices.Clone(ev.IdleMoments), IdleMoment{Run: ev.Run}) {
		what := fmt.Sprintf("idle moment %d", i+1)
		if i == len(ev.IdleMoments) {
			what = "at the end"
		}
		switch {
		case r.Run == nil && seq > 0:
			f.add("P-7", "%s: the state is gone", what)
		case r.Run == nil:
		case r.Run.Progress.Seq < seq:
			f.add("P-7", "%s: the state has step %d, but an earlier state had step %d", what, r.Run.Progress.Seq, seq)
		default:
			seq = r.Run.Progress.Seq
		}
		if r.Run != nil {
			f.valid(what, r.Run)
			w.fits(what, r.Run)
		}
	}
	for _, s := range ev.Checkpoints {
		if s.Run != nil {
			f.valid(fmt.Sprintf("checkpoint %d", s.Manifest.Generation), s.Run)
		}
	}
}

// valid checks that a saved run is valid. what describes the run.
func (f *findings) valid(what string, run *state.Run) {
	if err := run.Validate(); err != nil {
		f.add("P-8", "%s: an invalid state was written: %v", what, err)
	}
}

// ends checks that the last end of the run in the log agrees with the saved run.
func (f *findings) ends(ev Evidence) {
	if ev.Run == nil || len(ev.Events) == 0 {
		return
	}
	var last *state.RunFinished // the end of the last segment; nil if that segment has not ended
	for _, e := range ev.Events {
		switch b := e.Body.(type) {
		case *state.RunStarted:
			last = nil
		case *state.RunFinished:
			last = b
		}
	}
	p := ev.Run.Progress
	switch {
	case last == nil && p.Status != state.Running:
		f.add("P-9", "the run is %s, but the log does not contain its end", p.Status)
	case last != nil && p.Status == state.Running:
		f.add("P-9", "the log contains the end of a run that is running")
	case last != nil && !isEndOf(last, ev.Run):
		f.add("P-9", "the log contains the end %+v, but the run is %+v", *last, p)
	}
	if result, ok := ev.Run.Result(); last != nil && ok && (last.Result == nil || *last.Result != result) {
		f.add("P-4", "the result of the run is %q, but the log contains another one", result)
	}
}

// isEndOf reports whether the event agrees with the progress of the saved run.
func isEndOf(b *state.RunFinished, run *state.Run) bool {
	p := run.Progress
	return b.Status == p.Status && b.Reason == p.Reason && b.USD == p.TotalUSD && b.Unknown == run.Spent().Unknown &&
		b.Iterations == run.OwnExecutions() && b.FlakeRetries == p.FlakeRetries
}

// remains checks that no process, no temporary file and no readable secret remains.
func (f *findings) remains(ev Evidence) {
	for _, p := range ev.Processes {
		f.add("P-10", "a process is alive: %s", p)
	}
	for _, name := range ev.TempFiles {
		f.add("P-10", "a temporary file remains: %s", name)
	}
	for _, secret := range ev.Secrets {
		if slices.ContainsFunc(ev.Sealed, func(data []byte) bool { return bytes.Contains(data, []byte(secret)) }) {
			f.add("P-10", "%q can be read in encrypted data", secret)
		}
	}
}
