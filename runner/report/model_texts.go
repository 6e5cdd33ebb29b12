package report

import "github.com/raymond-action/raymond-action/state"

// mostTexts bounds the outputs of executions that are held while events are read, in bytes.
// What fits into a page is decided when all of them are known.
const mostTexts = 24 << 20

// outputOf is how long the outputs are that an event brings.
func outputOf(b state.Body) (n int) {
	switch b := b.(type) {
	case *state.AgentOutput:
		return len(b.Text)
	case *state.NodeAttempt:
		for _, result := range b.Results {
			n += len(result.Tail)
		}
	case *state.StateFinished:
		return len(b.StdoutTail) + len(b.StderrTail)
	}
	return n
}

// hold notes that an event has brought outputs, and drops those of the executions that began
// first when there are too many. A short Model has few executions.
func (m *Model) hold(b state.Body) {
	if m.isShort {
		return
	}
	for m.held += outputOf(b); m.held > mostTexts && m.dropped < len(m.Executions)-1; m.dropped++ {
		m.held -= m.Executions[m.dropped].dropOutputs()
	}
}

// dropOutputs removes the outputs of an execution, and says so. It returns how long they were.
func (x *Exec) dropOutputs() int {
	n := len(x.Stdout) + len(x.Stderr)
	for _, line := range x.Output {
		n += len(line)
	}
	x.Output, x.Stdout, x.Stderr = nil, "", ""
	for i := range x.Attempts {
		for j := range x.Attempts[i].Results {
			if r := &x.Attempts[i].Results[j]; r.Tail != "" {
				n += len(r.Tail)
				r.Tail, r.Truncated = "", true
			}
		}
	}
	x.IsCut = x.IsCut || n > 0
	return n
}
