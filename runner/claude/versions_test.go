package claude

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/uuid"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/state"
)

// resultLine returns a result record with a total cost and, if given, a share of it. Both are in cents.
func resultLine(cents int, share ...int) string {
	usage := func(cents int) string {
		return fmt.Sprintf(`{"opus":{"inputTokens":%d,"outputTokens":%d,"costUSD":%d.%02d}}`, cents*10, cents, cents/100, cents%100)
	}
	since := ""
	for _, s := range share {
		since = `,"model_usage_since_last_result":` + usage(s)
	}
	return fmt.Sprintf(`{"type":"result","subtype":"success","stop_reason":"end_turn","session_id":%q,"total_cost_usd":%d.%02d,"modelUsage":%s%s}`,
		chosen, cents/100, cents%100, usage(cents), since)
}

// TestShares checks that the cost is what this process used, in total and by model. Versions of the CLI
// differ in which processes their counts include.
func TestShares(t *testing.T) {
	reached := func(cents int64) state.RunningTotal {
		usd := state.USD(cents) * state.Dollar / 100
		u := state.Usage{Model: "opus", Input: 10 * cents, Output: cents}
		return state.RunningTotal{USD: usd, Models: []state.ModelCost{{Usage: u, CostUSD: usd}}}
	}
	for _, c := range []struct {
		name, version string
		before        int64
		results       []string
		want          int64
	}{
		{"of the process", "2.1.276", 125, []string{resultLine(125)}, 125},
		{"no version", "", 125, []string{resultLine(125)}, 125},
		{"goes on counting", "2.1.277", 125, []string{resultLine(250)}, 125},
		{"goes on counting, begins", "2.1.278", 0, []string{resultLine(125)}, 125},
		{"counted less than before", "2.1.278", 300, []string{resultLine(250)}, 0},
		{"two results in one count", "2.1.278", 125, []string{resultLine(200), resultLine(250)}, 125},
		{"tells two shares", "2.1.330", 200, []string{resultLine(300, 50), resultLine(375, 75)}, 125},
		{"tells only one", "2.1.330", 250, []string{resultLine(300), resultLine(375, 75)}, 125},
		{"a share of nothing", "2.1.330", 250, []string{resultLine(300, 0)}, 0},
	} {
		b, dir, _ := conversation(t, chosen, "")
		turn := b.newTurn(runner.Order{Dir: dir, Prompt: runner.PromptOrder{Session: state.Resume, SessionID: chosen, Reached: reached(c.before)}}, nil)
		turn.Stream.Write([]byte(`{"type":"system","subtype":"init","session_id":"` + chosen + `","claude_code_version":"` + c.version + `"}` + "\n"))
		for _, line := range c.results {
			turn.Stream.Write([]byte(line + "\n"))
		}
		a, _ := turn.Answer(proc.Exit{})
		got, want := a.Cost, reached(c.want)
		byModel := int64(0)
		for _, m := range got.Usage {
			byModel += int64(m.CostUSD)
		}
		assert.Check(t, got.Kind == state.Exact && got.USD == want.USD && byModel == int64(want.USD) && len(got.Unreported) == 0, "%s: got %+v, want exactly $%s, by model too", c.name, got, want.USD)
	}
}

// TestPriorCountIsReadFromTheTranscript checks that the prior count is the newest count that the
// transcript contained when the process began. If the transcript contained no count, the prior count must be
// the count in the order.
func TestPriorCountIsReadFromTheTranscript(t *testing.T) {
	b, dir, file := conversation(t, chosen, "")
	o := runner.Order{Prompt: runner.PromptOrder{Session: state.Resume, SessionID: chosen, Reached: state.RunningTotal{USD: 7}}, Dir: dir}
	assert.Check(t, is.Equal(b.priorCount(o).read().USD, state.USD(7)), "without a count: want the dollars that the run knows")
	count := `{"type":"cost-state","totalCostUSD":%s,"modelUsage":{"opus":{"costUSD":%[1]s}}}` + "\n"
	lines := `{"type":"user"}` + "\n" + fmt.Sprintf(count, "1.25") + fmt.Sprintf(count, "2.50") + fmt.Sprintf(count, `"x"`)
	assert.NilError(t, os.WriteFile(file, []byte(lines), 0o644))
	before := b.priorCount(o)
	branch := o
	branch.Prompt.Session, branch.Prompt.From, branch.Prompt.SessionID = state.Branch, chosen, uuid.NewString()
	beforeBranch := b.priorCount(branch)
	assert.NilError(t, os.WriteFile(file, []byte(lines+fmt.Sprintf(count, "9.75")), 0o644))
	for what, p := range map[string]priorCount{"resumed": before, "branched": beforeBranch} {
		got := p.read()
		assert.Check(t, got.USD == 5*state.Dollar/2 && len(got.Models) == 1, "%s: got %+v, want $2.50", what, got)
	}
	o.Prompt.Session = state.Fresh
	assert.Check(t, is.Equal(b.priorCount(o).read().USD, state.USD(0)), "fresh")
}
