package runner

import (
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// fakeTranscripts is an agent CLI whose transcripts contain one output token for each byte of
// the conversation's id.
type fakeTranscripts struct{ AgentCLI }

// Usage implements Transcripts.
func (fakeTranscripts) Usage(c Conversation, from int64) ([]state.Usage, bool) {
	return []state.Usage{{Model: "m", Output: int64(len(c.ID)) - from}}, true
}

// TestSilentInvocationIsBookedByTranscript checks that an invocation which reports no cost is
// charged for what it added to the transcript. A branch is not charged for the history that it
// copied. A reported or metered cost takes precedence.
func TestSilentInvocationIsBookedByTranscript(t *testing.T) {
	length := int64(2)
	fresh := state.Invocation{Mode: state.Fresh, SessionID: "12345"}
	for name, c := range map[string]struct {
		run      state.Invocation
		reported state.Cost
		want     int64
	}{
		"fresh":            {fresh, state.Cost{}, 5},
		"resumed":          {state.Invocation{Mode: state.Resume, SessionID: "12345", Length: &length}, state.Cost{}, 3},
		"branched":         {state.Invocation{Mode: state.Branch, SessionID: "12345", From: "1"}, state.Cost{}, 4},
		"reports its cost": {fresh, state.Cost{Kind: state.Exact}, 0},
		"never began":      {fresh, state.Cost{Silent: true}, 0},
		"seen":             {fresh, state.Cost{Unreported: []state.Usage{{Model: "m", Output: 7}}}, 7},
	} {
		cfg, got := &Config{Agents: map[string]AgentCLI{protocol.BackendClaude: fakeTranscripts{}}}, int64(0)
		for _, u := range cfg.unreportedUsage(&state.Agent{Exec: &state.Exec{Running: &c.run}}, "", c.reported) {
			got += u.Output
		}
		assert.Check(t, is.Equal(got, c.want), "%s: tokens", name)
	}
}
