package report

import "github.com/raymond-action/raymond-action/state"

// mostTexts bounds the bulky texts of executions that are held while events are read, in
// bytes. What fits into a page is decided when all of them are known.
const mostTexts = 24 << 20

// textOf is how long the bulky texts of an event are.
func textOf(b state.Body) int {
	switch b := b.(type) {
	case *state.AgentOutput:
		return len(b.Text)
	case *state.Reminder:
		return len(b.Reason)
	case *state.Retry:
		return len(b.Error)
	case *state.NodeAttempt:
		n := 0
		for _, result := range b.Results {
			n += len(result.Tail) + len(result.Cmd)
		}
		return n
	case *state.StateFinished:
		return len(b.StdoutTail) + len(b.StderrTail) + len(b.Error)
	}
	return 0
}

// texts drops the bulky texts of the executions that began first when there are too many.
type texts struct {
	held  int
	sizes map[*Exec]int
	queue []*Exec // that have some, in the order in which they got the first
}

// grow notes that an execution has got n bytes more.
func (t *texts) grow(x *Exec, n int) {
	if n == 0 {
		return
	}
	if t.sizes == nil {
		t.sizes = map[*Exec]int{}
	}
	if t.sizes[x] == 0 {
		t.queue = append(t.queue, x)
	}
	t.sizes[x] += n + 16
	t.held += n + 16
	for t.held > mostTexts && len(t.queue) > 1 {
		first := t.queue[0]
		t.queue = t.queue[1:]
		t.held -= t.sizes[first]
		delete(t.sizes, first)
		first.dropTexts()
	}
}

// dropTexts removes the bulky texts of an execution, and says so.
func (x *Exec) dropTexts() {
	if len(x.Output) > 0 || x.Stdout != "" || x.Stderr != "" {
		x.IsCut = true
	}
	x.Output, x.Stdout, x.Stderr = nil, "", ""
	for i := range x.Attempts {
		for j := range x.Attempts[i].Results {
			if r := &x.Attempts[i].Results[j]; r.Tail != "" {
				r.Tail, r.Truncated, x.IsCut = "", true, true
			}
		}
	}
}
