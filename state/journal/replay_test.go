package journal

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// replaySteps returns the journal of a run in which main forks two agents, and the first one ends.
func replaySteps(tb testing.TB) []byte {
	tb.Helper()
	run, journal := tinyRun(), []byte{}
	st := &protocol.State{Name: "A.sh", Kind: protocol.Script}
	fork := protocol.Decision{
		Spawns: []protocol.Spawn{{State: "A.sh", Next: "A.sh"}}, Then: protocol.Move{Verb: protocol.Goto, To: "A.sh"},
	}
	end := protocol.Decision{Then: protocol.Move{Verb: protocol.Result, Text: "done"}}
	take := func(f func(*state.Step)) {
		s := run.Step(time.Unix(2, 0))
		f(s)
		d := s.Delta()
		data, err := state.Marshal(d)
		assert.NilError(tb, err)
		journal, run = append(journal, encodeLine(data)...), run.With(d)
	}
	take(func(s *state.Step) {
		s.Begin()
		s.Start("main", state.Launch{State: st})
	})
	for _, turn := range []struct {
		agent string
		d     protocol.Decision
	}{{"main", fork}, {"main", fork}, {"main_a1", end}} {
		take(func(s *state.Step) {
			if a, _ := s.Agent(turn.agent); a.Exec == nil {
				s.Start(turn.agent, state.Launch{State: st})
			}
			s.End(turn.agent, st, state.Outcome{Decision: turn.d})
		})
	}
	return journal
}

// withChecksums returns the lines of a journal with correct checksums.
func withChecksums(lines []byte) []byte {
	var out []byte
	for line := range bytes.Lines(lines) {
		data := bytes.TrimSuffix(line, []byte("\n"))
		if _, rest, ok := bytes.Cut(data, []byte(" ")); ok {
			data = rest
		}
		out = append(out, encodeLine(data)...)
	}
	return out
}

// FuzzReplay checks that no journal causes a panic, whether its checksums are correct or not.
func FuzzReplay(f *testing.F) {
	journal := replaySteps(f)
	f.Add(journal)
	f.Add(journal[:len(journal)-9])
	f.Add(bytes.ReplaceAll(journal, []byte(`"n":2`), []byte(`"n":7`)))
	f.Add(bytes.ReplaceAll(journal, []byte(`"id":"main"`), []byte(`"id":"main_x1"`)))
	f.Add(bytes.ReplaceAll(journal, []byte(`"gone":["main_a1"]`), []byte(`"gone":["main","main"]`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, journal := range [][]byte{data, withChecksums(data)} {
			var invalid *state.FileError
			if err := replay(tinyRun(), bytes.NewReader(journal)); err != nil && !errors.As(err, &invalid) {
				t.Fatalf("got error %v, want a state.FileError", err)
			}
		}
	})
}

// TestStepsThatDoNotFitAreRefused checks that journals with complete lines are rejected if their steps can't
// follow the run.
func TestStepsThatDoNotFitAreRefused(t *testing.T) {
	journal := string(replaySteps(t))
	lines := strings.SplitAfter(journal, "\n")
	for name, bad := range map[string]string{
		"a step is missing":            lines[0] + lines[2] + lines[3],
		"a step comes twice":           lines[0] + lines[1] + lines[1] + lines[2],
		"another number of an agent":   strings.ReplaceAll(journal, `"id":"main_a1","n":2`, `"id":"main_a1","n":1`),
		"an agent of no known number":  strings.ReplaceAll(journal, `"id":"main","n":1`, `"id":"main","n":9`),
		"numbers out of order":         strings.ReplaceAll(journal, `"id":"main_a1","n":2`, `"id":"main_a1","n":10`),
		"an unknown field":             strings.Replace(journal, `"progress":{`, `"progress":{"unheard_of":1,`, 1),
		"the progress is null":         strings.Replace(journal, `"status":"running"`, `"status":null`, 1),
		"an agent that is not there":   strings.ReplaceAll(journal, `"gone":["main_a1"]`, `"gone":["main_z1"]`),
		"a sum that does not add up":   strings.ReplaceAll(journal, `"total_usd":0`, `"total_usd":1`),
		"a line of something else":     lines[0] + "hello\n" + lines[1] + lines[2],
		"an agent in place of another": strings.ReplaceAll(journal, `"agents":[{"id":"main","n":1`, `"agents":[{"id":"main","n":2`),
	} {
		text := []byte(bad)
		if !strings.HasPrefix(name, "a line") {
			text = withChecksums(text)
		}
		var invalid *state.FileError
		err := replay(tinyRun(), bytes.NewReader(text))
		assert.Check(t, errors.As(err, &invalid), "%s: got %v, want a state.FileError", name, err)
	}
}
