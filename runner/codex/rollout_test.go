package codex

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
)

const (
	threadID = "01a20496-9575-7df3-99d5-ad94698ff8ca"

	meta = `{"type":"session_meta","payload":{"id":"` + threadID + `","cwd":"/work"}}` + "\n"
)

// rolloutOf writes a rollout with the given text and returns its path.
func rolloutOf(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "rollout.jsonl")
	assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// turnLine returns the lines of a rollout for a turn with a model. sum is the running total after
// the turn.
func turnLine(model, sum string) string {
	return `{"type":"turn_context","payload":{"model":"` + model + `"}}` + "\n" +
		`{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":` + sum + `}}}` + "\n"
}

// TestUsage checks that the increase of the running total is assigned to the model of the request,
// and that a repeated total adds nothing.
func TestUsage(t *testing.T) {
	t.Parallel()
	one := meta + turnLine("a", `{"input_tokens":100,"cached_input_tokens":40,"cache_write_input_tokens":10,"output_tokens":5}`)
	again := `{"type":"event_msg","payload":{"type":"token_count","info":null}}` + "\n" + `{"type":"event_msg","payload":"token_count"}` + "\n"
	two := turnLine("b", `{"input_tokens":300,"cached_input_tokens":140,"cache_write_input_tokens":10,"output_tokens":9}`)
	path := rolloutOf(t, one+again+two+two)
	a := state.Usage{Model: "a", Input: 50, CacheRead: 40, CacheWrite: 10, Output: 5}
	b := state.Usage{Model: "b", Input: 100, CacheRead: 100, Output: 4}
	for from, want := range map[int64][]state.Usage{0: {a, b}, int64(len(one)): {b}, int64(len(one + again + two)): nil} {
		got, _ := usageFrom(path, from)
		assert.Check(t, is.DeepEqual(got, want), "usage from %d", from)
	}
	c, _, err := readUsage(rolloutOf(t, one), 0)
	assert.NilError(t, err)
	assert.Check(t, is.Equal(c, (threadUsage{state.Usage{Input: 50, CacheRead: 40, CacheWrite: 10, Output: 5}, "a"})), "count after the first turn")
}

// TestRefusals checks that a tool call only counts as denied if the CLI itself has written the
// output.
func TestRefusals(t *testing.T) {
	t.Parallel()
	call := `{"type":"response_item","payload":{"type":"custom_tool_call","call_id":"1","name":"exec","input":"await tools.apply_patch(\"*** Begin Patch\\n*** Add File: made\\n+x\")"}}` + "\n"
	output := func(text string) string {
		return `{"type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"1","output":` + text + `}}` + "\n"
	}
	const why = `patch rejected: no`
	for text, want := range map[string][]refusedUse{
		`[{"text":"Script failed\nx"},{"text":"Script error:\n` + why + `"}]`: {{"apply_patch", "made", why}},
		`"` + why + `"`: {{"apply_patch", "made", why}},
		`[{"text":"Script completed\nx"},{"text":"Script error:\n` + why + `"}]`: nil,
		`"a file says: ` + why + `"`: nil,
		`5`:                          nil,
	} {
		path := rolloutOf(t, meta+call+output(text))
		assert.Check(t, is.DeepEqual(readRefusals(path, 0), want), text)
	}
}
