package state

// ExecNumbers tells which state execution each event of a log belongs to, also where an
// earlier version wrote events without numbers. The zero value is ready. Of is called for
// every event of the log in order.
type ExecNumbers struct {
	last    int                 // the highest number so far
	byAgent map[string]execSeen // the last one of each agent
}

// execSeen is what the log told of an execution so far.
type execSeen struct {
	n     int
	state string
	ended bool
}

// Of returns the number of the state execution that an event belongs to, and 0 when it
// belongs to none.
func (x *ExecNumbers) Of(e Event) int {
	if x.byAgent == nil {
		x.byAgent = map[string]execSeen{}
	}
	seen := x.byAgent[e.Agent]
	switch e.Body.(type) {
	case *StateStarted:
		if e.Exec == 0 && (seen.n == 0 || seen.ended || seen.state != e.State) {
			seen = execSeen{n: x.last + 1}
		}
		seen.state, seen.ended = e.State, false
	case *StateFinished:
		seen.ended = true
	case *AgentOutput, *Reminder, *Retry, *NodeAttempt, *Transition, *AttemptInterrupted:
	case *Limit:
		if e.Exec == 0 {
			return 0
		}
	default:
		return e.Exec
	}
	if e.Exec > 0 {
		seen.n = e.Exec
	}
	x.last = max(x.last, seen.n)
	x.byAgent[e.Agent] = seen
	return seen.n
}
