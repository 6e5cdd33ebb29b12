package agents

import (
	"slices"
	"testing"

	"github.com/raymond-action/raymond-action/protocol"
)

// TestEachAgentIsWhatItSays: an agent CLI is listed once, by a name that workflows can use, and
// tells of itself what the list does. The default one is first.
func TestEachAgentIsWhatItSays(t *testing.T) {
	all := New(Config{})
	var names []string
	for _, a := range Abilities() {
		names = append(names, a.Backend)
		made, ok := all[a.Backend]
		if !ok {
			t.Errorf("agent %q: got none", a.Backend)
			continue
		}
		if got := made.Abilities(); got.Backend != a.Backend || got.Title != a.Title || a.Title == "" {
			t.Errorf("agent %q: got %+v of itself, want %+v as in the list", a.Backend, got, a)
		}
		if !protocol.IsBackend(a.Backend) {
			t.Errorf("agent %q: no workflow can name it", a.Backend)
		}
		if pin, ok := Pins()[a.Backend]; ok && (pin.Title != a.Title || pin.Version() == "") {
			t.Errorf("pin of agent %q: got %q %q, want a version of %q", a.Backend, pin.Title, pin.Version(), a.Title)
		}
	}
	if len(names) != len(all) || len(names) != len(slices.Compact(slices.Sorted(slices.Values(names)))) || names[0] != protocol.Backends()[0] {
		t.Errorf("agents: got %q, want each once and the default one first", names)
	}
}
