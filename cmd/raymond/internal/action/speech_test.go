//go:build linux

package action_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/state"
)

// speechFlow has an agent and a script that say much, and secrets in every way
// that cuts them up.
const speechFlow = `-- wf/START.md --
Begin.
-- wf/NOISE.sh --
secret=$(cat token)
echo 'clone https://bob:hunter2-pass@forge.test/o/r' >&2
# In three writes, with time between them for a reader.
printf 'split %s' "${secret:0:9}" >&2; sleep 0.1; printf '%s' "${secret:9:9}" >&2; sleep 0.1; echo "${secret:18}" >&2
# Across the end of what is read of a line, of what is told of it, and of both
# after so many others that these shorten the line to a few stars.
for n in 65530 1990; do printf '%*s%s\n' $n x "$secret" >&2; done
for ((i = 0; i < 2000; i++)); do printf '%s' "$secret" >&2; done; echo >&2
for ((i = 0; i < 900; i++)); do echo "stderr line $i" >&2; done
echo 'the last words of the script' >&2
echo '<result>done</result>'
`

// talkingJob is a job whose agent says the secret across every cut on its way,
// in a stream that comes in pieces, and then a thousand lines.
func talkingJob(t *testing.T, f *sitetest.Forge) *bareJob {
	j := newJob(t, f, acttest.Repository(t, speechFlow), 1).with("github-token", "api-token", "anthropic-api-key", modelKey)
	j.site.Write(filepath.Join(j.work, "token"), modelKey)
	pad := func(n int) string { return strings.Repeat("x", n) }
	block := func(v map[string]any) string {
		data, err := json.Marshal(map[string]any{"type": "assistant", "message": map[string]any{"model": "stub", "content": []any{v}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(data) + "\n"
	}
	var says strings.Builder
	for _, n := range []int{100, 110, 119} {
		says.WriteString(block(map[string]any{"type": "tool_use", "id": fmt.Sprint(n), "name": "Bash", "input": map[string]any{"command": pad(n) + modelKey}}))
	}
	for _, n := range []int{1970, 1990, 1999} {
		says.WriteString(block(map[string]any{"type": "text", "text": pad(n) + modelKey + "\n" + modelKey}))
	}
	for n := range 1000 {
		says.WriteString(block(map[string]any{"type": "text", "text": fmt.Sprint("agent line ", n)}))
	}
	says.WriteString(block(map[string]any{"type": "text", "text": "the last words of the agent\n<goto>NOISE.sh</goto>"}))
	path := filepath.Join(j.root, "claude")
	j.site.Write(filepath.Join(j.root, "says"), says.String())
	j.site.Write(path, fmt.Sprintf(`#!/bin/bash
[ "$1" = --version ] && { echo '2.1.197 (stub)'; exit; }
cat >/dev/null
while [ $# -gt 0 ]; do case $1 in --session-id|--resume) id=$2;; esac; shift; done
echo '{"type":"system","subtype":"init","session_id":"'$id'","model":"stub"}'
head -c 300 %[1]s/says; sleep 0.1; tail -c +301 %[1]s/says
echo '{"type":"result","subtype":"success","is_error":false,"stop_reason":"end_turn","num_turns":1,"session_id":"'$id'","total_cost_usd":0.25,
"modelUsage":{"opus":{"costUSD":0.2},"haiku":{"costUSD":0.05}},
"permission_denials":[{"tool_name":"Bash","tool_input":{"command":"%[2]s%[3]s"}}]}' | tr -d '\n'
`, j.root, pad(110), modelKey))
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return j.with("claude-path", path)
}

// pieces are parts of a secret that say that more of it was shown.
func pieces(secret string) []string {
	var all []string
	for at := 0; at+8 <= len(secret); at++ {
		all = append(all, secret[at:at+8])
	}
	return all
}

// TestWhatAgentsSayIsTold: in a job what agents and scripts say is told without
// anybody asking, within bounds, with the last words, and without a piece of a
// secret in log, events, summary, outputs or checkpoint.
func TestWhatAgentsSayIsTold(t *testing.T) {
	t.Parallel()
	j := talkingJob(t, sitetest.NewForge(t))
	e := j.do(0)
	events := j.read(e.outputs["events-file"])
	lines, finished := map[string][]string{}, map[string]*state.StateFinished{}
	for line := range strings.Lines(events) {
		var ev state.Event
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		switch b := ev.Body.(type) {
		case *state.AgentOutput:
			lines[ev.State] = append(lines[ev.State], b.Text)
		case *state.StateFinished:
			finished[ev.State] = b
		}
	}
	for at, last := range map[string]string{"START.md": "<goto>NOISE.sh</goto>", "NOISE.sh": "the last words of the script"} {
		// A script's two streams have no order: its result may come after its last words.
		if got := lines[at]; len(got) != 500 || !slices.Contains(got[498:], last) {
			t.Errorf("%s: got %d lines, the last two %q, want 500 and %q", at, len(got), got[len(got)-2:], last)
		}
	}
	if got := finished["START.md"]; got == nil || fmt.Sprint(got.Models) != "map[haiku:0.05 opus:0.2]" || len(got.Denied) != 1 {
		t.Errorf("end of START.md: got %+v, want the cost by model and what was refused", got)
	}
	log := strings.Join(e.lines, "\n")
	for _, want := range []string{"the last words of the agent", "the last words of the script", "agent line 0\n", "stderr line 0\n", " lines left out …"} {
		if !strings.Contains(log, want) {
			t.Errorf("log: got\n%.3000s\nwant %q in it", log, want)
		}
	}
	if !strings.Contains(e.summary, "the last words of the script") {
		t.Errorf("summary: got\n%s\nwant the last words in it", e.summary)
	}
	if told := log + events + e.summary; !strings.Contains(log, "clone https://***@forge.test") || strings.Contains(told, "hunter2") {
		t.Errorf("a password in an address: got it told, or not stars for it, in\n%.3000s", log)
	}
	j.wantNoPieces("log", withoutMasks(e))
	j.wantNoPieces("stderr", e.Stderr)
	j.wantNoPieces("events", events)
	j.wantNoPieces("summary", e.summary)
	j.wantNoPieces("outputs", fmt.Sprint(e.outputs))
	for _, a := range j.forge.All() {
		j.wantNoLeaks("artifact "+a.Name, string(a.Content))
	}
}

func (j *bareJob) wantNoPieces(what, text string) {
	j.t.Helper()
	for _, piece := range pieces(modelKey) {
		if at := strings.Index(text, piece); at >= 0 {
			j.t.Errorf("%s: got the piece %q of a secret in %q", what, piece, text[max(0, at-60):min(len(text), at+60)])
			return
		}
	}
}

// TestDebugLoggingTellsAll: who re-runs a job with debug logging sees every line.
func TestDebugLoggingTellsAll(t *testing.T) {
	t.Parallel()
	j := talkingJob(t, sitetest.NewForge(t)).set("RUNNER_DEBUG", "1")
	e := j.do(0)
	log, events := strings.Join(e.lines, "\n"), j.read(e.outputs["events-file"])
	for n := range 900 {
		for _, want := range []string{fmt.Sprint("agent line ", n), fmt.Sprint("stderr line ", n)} {
			if !strings.Contains(log, want+"\n") || !strings.Contains(events, want+`"`) {
				t.Fatalf("%q is missing in the log or the events", want)
			}
		}
	}
	j.wantNoPieces("log", withoutMasks(e))
	j.wantNoPieces("events", events)
}

// TestLogHasColours: unless NO_COLOR is set.
func TestLogHasColours(t *testing.T) {
	t.Parallel()
	flow := "-- wf/START.sh --\nprintf '\\033[31mred\\033[0m\\n' >&2; echo '<result>x</result>'\n"
	for _, no := range []string{"", "1"} {
		f := sitetest.NewForge(t)
		e := newJob(t, f, acttest.Repository(t, flow), 1).set("NO_COLOR", no).do(0)
		got := logColours.FindAllString(e.painted, -1)
		if (len(got) > 0) != (no == "") || strings.Contains(e.Stdout, "\x1b") || !strings.Contains(e.Stdout, `\x1b[31mred`) {
			t.Errorf("NO_COLOR=%q: got colours %q in\n%q", no, got, e.painted)
		}
	}
}
