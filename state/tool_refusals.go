package state

import "slices"

// Refusal is a tool call that the agent CLI denied.
type Refusal struct {
	Use    string   `json:"use"`              // the tool call, as in StateFinished.Denied
	Reason string   `json:"reason,omitempty"` // the CLI's explanation
	Allow  []string `json:"allow,omitempty"`  // the simplest rules that could allow the call, untested; absent if no rule would help
}

// maxExplained is the maximum number of refusals in a state execution that are stored with details.
const maxExplained = 20

// addRefusals adds refusals to the execution. The details of a repeated tool call are stored only once, and
// details of at most maxExplained tool calls are stored.
func (e *Exec) addRefusals(all []Refusal) {
	for _, r := range all {
		explained := e.explainedRefusals()
		if len(explained) >= maxExplained || slices.ContainsFunc(explained, func(x Refusal) bool { return x.Use == r.Use }) {
			r = Refusal{Use: r.Use}
		}
		e.Refusals = append(e.Refusals, r)
	}
}

// explainedRefusals returns the stored refusals that have details.
func (e *Exec) explainedRefusals() (list []Refusal) {
	for _, r := range e.Refusals {
		if r.Reason != "" || r.Allow != nil {
			list = append(list, r)
		}
	}
	return list
}

// AllRefusals returns the denied tool calls, each of them once. Details are included if they are known.
func (b *StateFinished) AllRefusals() []Refusal {
	all := slices.Clone(b.Refusals)
	for _, use := range b.Denied {
		if !slices.ContainsFunc(all, func(r Refusal) bool { return r.Use == use }) {
			all = append(all, Refusal{Use: use})
		}
	}
	return all
}
