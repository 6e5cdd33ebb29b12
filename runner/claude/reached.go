package claude

import (
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// priorCount is where it is written how far the CLI's count of a session had come
// before a process resumed or branched it. The zero value is that of a fresh
// session.
type priorCount struct {
	path  string         // the transcript; "" when there is none
	size  int64          // what it had when the process began: it grows with a resumed session
	known *state.Reached // what the run knows itself; nil for nothing
}

// priorCount finds the count that an order continues.
func (b *Backend) priorCount(o runner.Order) priorCount {
	session := o.Prompt.SessionID
	switch o.Prompt.Session {
	case state.Branch:
		session = o.Prompt.From
	case state.Resume:
	default:
		return priorCount{}
	}
	p := priorCount{known: o.Prompt.Reached}
	p.path, _, _ = b.Kept().Path(session, o.Dir)
	p.size, _ = transcripts.Size(p.path)
	return p
}

// read returns the newest count. That of the transcript goes before what the run
// knows.
func (p priorCount) read() state.Reached {
	var last state.Reached
	if p.known != nil {
		last = *p.known
	}
	if p.path == "" {
		return last
	}
	for c := range costStates(p.path, p.size) {
		if usd, ok := program.Dollars(c.TotalCost); ok {
			last = state.Reached{USD: usd, Models: byModel(c.ModelUsage)}
		}
	}
	return last
}
