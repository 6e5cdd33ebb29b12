package state

import "slices"

// Refusal is a use of a tool that the agent CLI refused.
type Refusal struct {
	Use    string   `json:"use"`              // as in denied
	Reason string   `json:"reason,omitempty"` // in the words of the CLI
	Allow  []string `json:"allow,omitempty"`  // the plain rules for it, not tried; absent where another reason refuses it
}

// maxExplained is how many refusals of a state execution are kept with what is known about them.
const maxExplained = 20

// addRefusals adds refusals. What is known about a use is kept once.
func (e *Exec) addRefusals(all []Refusal) {
	for _, r := range all {
		explained := e.explained()
		if len(explained) >= maxExplained || slices.ContainsFunc(explained, func(x Refusal) bool { return x.Use == r.Use }) {
			r = Refusal{Use: r.Use}
		}
		e.Refusals = append(e.Refusals, r)
	}
}

// explained are the refusals about which more is known than the use.
func (e *Exec) explained() (list []Refusal) {
	for _, r := range e.Refusals {
		if r.Reason != "" || r.Allow != nil {
			list = append(list, r)
		}
	}
	return list
}

// AllRefusals returns the refused uses of tools, each once, with what is known about them.
func (b *StateFinished) AllRefusals() []Refusal {
	all := slices.Clone(b.Refusals)
	for _, use := range b.Denied {
		if !slices.ContainsFunc(all, func(r Refusal) bool { return r.Use == use }) {
			all = append(all, Refusal{Use: use})
		}
	}
	return all
}
