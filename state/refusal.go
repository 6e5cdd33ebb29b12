package state

import "slices"

// Refusal is a use of a tool that the agent CLI refused.
type Refusal struct {
	Use    string   `json:"use"`              // as in denied
	Reason string   `json:"reason,omitempty"` // in the words of the CLI
	Allow  []string `json:"allow,omitempty"`  // the plain rules for it, not tried; absent where another reason refuses it
}

// MaxRefusals is how many refusals are kept of a state execution.
const MaxRefusals = 20

// addRefusals adds refusals, each use once.
func (e *Exec) addRefusals(all []Refusal) {
	for _, r := range all {
		known := slices.ContainsFunc(e.Refusals, func(x Refusal) bool { return x.Use == r.Use })
		if !known && len(e.Refusals) < MaxRefusals {
			e.Refusals = append(e.Refusals, r)
		}
	}
}

// Refused returns the refused uses of tools, each once, with what is known about them.
func (b *StateFinished) Refused() []Refusal {
	all := slices.Clone(b.Refusals)
	for _, use := range b.Denied {
		if !slices.ContainsFunc(all, func(r Refusal) bool { return r.Use == use }) {
			all = append(all, Refusal{Use: use})
		}
	}
	return all
}
