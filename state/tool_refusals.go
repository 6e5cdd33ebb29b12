package state

import "slices"

// Refusal is a tool use that the agent CLI refused.
type Refusal struct {
	Use    string   `json:"use"`              // the tool use, as in denied
	Reason string   `json:"reason,omitempty"` // the CLI's own explanation
	Allow  []string `json:"allow,omitempty"`  // the simplest rules that could allow it, untested; absent if no rule would help
}

// maxExplained is how many refusals of a state execution are stored with details.
const maxExplained = 20

// addRefusals adds refusals. The details of a tool use are stored only once.
func (e *Exec) addRefusals(all []Refusal) {
	for _, r := range all {
		explained := e.explainedRefusals()
		if len(explained) >= maxExplained || slices.ContainsFunc(explained, func(x Refusal) bool { return x.Use == r.Use }) {
			r = Refusal{Use: r.Use}
		}
		e.Refusals = append(e.Refusals, r)
	}
}

// explainedRefusals returns the refusals that have details.
func (e *Exec) explainedRefusals() (list []Refusal) {
	for _, r := range e.Refusals {
		if r.Reason != "" || r.Allow != nil {
			list = append(list, r)
		}
	}
	return list
}

// AllRefusals returns the refused tool uses, each once, with details if there are any.
func (b *StateFinished) AllRefusals() []Refusal {
	all := slices.Clone(b.Refusals)
	for _, use := range b.Denied {
		if !slices.ContainsFunc(all, func(r Refusal) bool { return r.Use == use }) {
			all = append(all, Refusal{Use: use})
		}
	}
	return all
}
