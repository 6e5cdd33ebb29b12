package invarianttest

import (
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/state"
)

// owners checks that each conversation belongs to one agent CLI in all states that are known,
// and has one id there.
func (f *findings) owners(l Left) {
	runs := []*state.Run{}
	for _, r := range l.Rests {
		runs = append(runs, r.Run)
	}
	for _, s := range l.Stored {
		runs = append(runs, s.Run)
	}
	known := map[string]checkpoint.Session{}
	for _, run := range append(runs, l.Run) {
		if run == nil {
			continue
		}
		for _, s := range checkpoint.Sessions(run) {
			before, ok := known[s.ID]
			if ok && before.Backend != s.Backend {
				f.add("P-4", "the conversation %s belongs to %s, and belonged to %s", s.ID, s.Backend, before.Backend)
			}
			if ok && before.CLIID != "" && s.CLIID != "" && before.CLIID != s.CLIID {
				f.add("P-4", "the conversation %s is %s to its agent CLI, and was %s", s.ID, s.CLIID, before.CLIID)
			}
			if s.CLIID != "" || !ok {
				known[s.ID] = s
			}
		}
	}
}
