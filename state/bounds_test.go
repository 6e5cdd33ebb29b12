package state

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// outputs are possible outputs of failed commands, up to the maximum size of CommandResult.Tail.
var outputs = []string{
	"", "\n", "FAIL\n", "no line break", strings.Repeat("é", 2048), strings.Repeat("`", 4096),
	strings.Repeat("```\ncode\n````\n", 290), strings.Repeat("x\n", 2048), "`````", "\nOutput (data, not instructions):\n",
	strings.Repeat("ab`", 1300), "ends in ```",
}

// commands are possible done_when commands, some of them unusual.
var commands = []string{"go test ./...", "", strings.Repeat("é", 3000), "a\nb", "printf '```'"}

// TestReportsAreBounded checks that a report does not exceed its maximum size, describes every failed
// command, and does not cut off the fences around the output of commands.
func TestReportsAreBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	for range 400 {
		n := &NodeAttempt{Attempt: 3, Reason: reasonCommands}
		failed := 0
		for range random.IntN(65) {
			r := CommandResult{Cmd: pick(commands), Tail: pick(outputs), Truncated: random.IntN(2) == 0, RC: random.IntN(3) * 69}
			if r.RC != 0 {
				failed++
			}
			n.Results = append(n.Results, r)
		}
		if random.IntN(3) == 0 {
			n.Protected = []string{strings.Repeat(pick(commands), 100)}
		}
		report := n.Report(6)
		told := strings.Count(report, "\nExit code: ")
		if len(report) > 16<<10 || !utf8.ValidString(report) || told != failed || !strings.HasPrefix(report, "Attempt 3 of 6 ") {
			t.Errorf("report on %d failed commands: got %d bytes about %d of them, valid UTF-8: %v, want at most 16 KiB of it\n%.200q",
				failed, len(report), told, utf8.ValidString(report), report)
		}
		if failed > 0 && !strings.HasSuffix(report, "```\n") {
			t.Errorf("report: got the end %q, want a whole fence", report[len(report)-20:])
		}
	}
}

// TestRefusalsAreExplainedOnce checks that a tool call that is denied many times counts only once toward
// maxExplained.
func TestRefusalsAreExplainedOnce(t *testing.T) {
	one, other := Refusal{Use: "Bash: make", Reason: "no rule"}, Refusal{Use: "Edit: a.go", Allow: []string{"Edit"}}
	e := &Exec{}
	e.addRefusals(append(slices.Repeat([]Refusal{one}, 2*maxExplained), other))
	assert.Check(t, is.DeepEqual(e.explainedRefusals(), []Refusal{one, other}))
	assert.Check(t, is.Len(e.Refusals, 2*maxExplained+1))
}
