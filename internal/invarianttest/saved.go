package invarianttest

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// saved checks every state that is known: each is valid, none is older than one before
// it, and each says of the agents what the log says of that moment.
func (f *findings) saved(l Evidence, w *walk) {
	seq := 0
	for i, r := range append(slices.Clone(l.IdleMoments), IdleMoment{Run: l.Run}) {
		what := fmt.Sprintf("rest %d", i+1)
		if i == len(l.IdleMoments) {
			what = "in the end"
		}
		switch {
		case r.Run == nil && seq > 0:
			f.add("P-7", "%s: the state is gone", what)
		case r.Run == nil:
		case r.Run.Progress.Seq < seq:
			f.add("P-7", "%s: the state is of step %d, and there was one of step %d", what, r.Run.Progress.Seq, seq)
		default:
			seq = r.Run.Progress.Seq
		}
		if r.Run != nil {
			f.valid(what, r.Run)
			w.fits(what, r.Run)
		}
	}
	for _, s := range l.Checkpoints {
		if s.Run != nil {
			f.valid(fmt.Sprintf("checkpoint %d", s.Manifest.Generation), s.Run)
		}
	}
}

func (f *findings) valid(what string, run *state.Run) {
	if err := run.Validate(); err != nil {
		f.add("P-8", "%s: a state was written that is not valid: %v", what, err)
	}
}

// ends checks that the end of the log is the end that the state has.
func (f *findings) ends(l Evidence) {
	if l.Run == nil || len(l.Events) == 0 {
		return
	}
	last, p := lastEnd(l.Events), l.Run.Progress
	switch {
	case last == nil && p.Status != state.Running:
		f.add("P-9", "the run is %s, and the log does not tell its end", p.Status)
	case last != nil && p.Status == state.Running:
		f.add("P-9", "the log tells the end of a run that is running")
	case last != nil && !isEndOf(last, l.Run):
		f.add("P-9", "the log tells the end %+v of a run that is %+v", *last, p)
	}
	if result, ok := l.Run.Result(); last != nil && ok && (last.Result == nil || *last.Result != result) {
		f.add("P-4", "the result of the run is %q, and the log tells another one", result)
	}
}

// lastEnd returns the end of the last part of a run; nil when it has none.
func lastEnd(events []state.Event) *state.RunFinished {
	var last *state.RunFinished
	for _, e := range events {
		switch b := e.Body.(type) {
		case *state.RunStarted:
			last = nil
		case *state.RunFinished:
			last = b
		}
	}
	return last
}

func isEndOf(b *state.RunFinished, run *state.Run) bool {
	p := run.Progress
	return b.Status == p.Status && b.Reason == p.Reason && b.USD == p.TotalUSD && b.Unknown == run.Spent().Unknown &&
		b.Iterations == run.OwnExecutions() && b.FlakeRetries == p.FlakeRetries
}

// remains checks that nothing is left that should not be.
func (f *findings) remains(l Evidence) {
	for _, p := range l.Processes {
		f.add("P-10", "a process is alive: %s", p)
	}
	for _, name := range l.TempFiles {
		f.add("P-10", "a temporary file is left: %s", name)
	}
	for _, secret := range l.Secrets {
		if slices.ContainsFunc(l.Sealed, func(data []byte) bool { return bytes.Contains(data, []byte(secret)) }) {
			f.add("P-10", "%q can be read in what is sealed", secret)
		}
	}
}
