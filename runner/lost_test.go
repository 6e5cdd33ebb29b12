package runner

import (
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// shown is an agent CLI whose transcripts show a token of output for each byte of a conversation's id.
type shown struct{ AgentCLI }

func (shown) Usage(c Conversation, from int64) ([]state.Usage, bool) {
	return []state.Usage{{Model: "m", Output: int64(len(c.ID)) - from}}, true
}

// TestWhatTellsNothingIsBookedByItsTranscript, from where the invocation began in it, and a branch without what it began
// with. What tells its cost, or was seen going by, is booked by that.
func TestWhatTellsNothingIsBookedByItsTranscript(t *testing.T) {
	length := int64(2)
	fresh := state.Invocation{Mode: state.Fresh, SessionID: "12345"}
	for name, c := range map[string]struct {
		run  state.Invocation
		said state.Cost
		want int64
	}{
		"fresh":         {fresh, state.Cost{}, 5},
		"resumed":       {state.Invocation{Mode: state.Resume, SessionID: "12345", Length: &length}, state.Cost{}, 3},
		"branched":      {state.Invocation{Mode: state.Branch, SessionID: "12345", From: "1"}, state.Cost{}, 4},
		"tells its own": {fresh, state.Cost{Kind: state.Exact}, 0},
		"never began":   {fresh, state.Cost{Silent: true}, 0},
		"seen":          {fresh, state.Cost{Unreported: []state.Usage{{Model: "m", Output: 7}}}, 7},
	} {
		cfg, got := &Config{Agents: map[string]AgentCLI{protocol.BackendClaude: shown{}}}, int64(0)
		for _, u := range cfg.beyond(&state.Agent{Exec: &state.Exec{Running: &c.run}}, "", c.said) {
			got += u.Output
		}
		assert.Check(t, is.Equal(got, c.want), "%s: tokens", name)
	}
}
