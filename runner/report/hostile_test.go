package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
)

// checkHarmless fails the test if a line could do anything in a terminal or in a job log other than
// being shown. input is the text from which the line was created.
func checkHarmless(t *testing.T, input, line string) {
	t.Helper()
	for _, r := range line {
		if !unicode.IsGraphic(r) {
			t.Errorf("line made of %.200q:\n got %.300q\nwant it without %q", input, line, r)
			return
		}
	}
	assert.Check(t, !strings.HasPrefix(strings.TrimSpace(line), "::") && !strings.Contains(line, "##["), "line made of %.200q:\n got %.300q\nwant no command of a job log in it", input, line)
}

// eventsWith returns one event of each type, in which every string has the value text.
func eventsWith(text string) []state.Event {
	result := state.Text(text)
	bodies := []state.Body{
		&state.RunStarted{Scope: text, Entry: text},
		&state.StateStarted{Kind: text, Session: state.SessionMode(text), Model: text, Cwd: text},
		&state.AgentOutput{Text: text},
		&state.Reminder{Reason: text},
		&state.Retry{Error: text},
		&state.NodeAttempt{Reason: text, Results: []state.CommandResult{{Cmd: text, RC: 1, Tail: text}}},
		&state.StateFinished{Denied: []string{text}, Error: text},
		&state.StateFinished{OK: true},
		&state.Transition{Tag: text, Target: text, From: text, Return: text, Next: text},
		&state.Transition{Tag: text, Target: text},
		&state.AgentStarted{Parent: text, Vars: map[string]string{text: text}},
		&state.AttemptInterrupted{Reason: text},
		&state.Checkpoint{Store: text},
		&state.Checkpoint{Store: text, Error: text},
		&state.Limit{Which: text},
		&state.AgentGoesOn{By: text},
		&state.AgentWaits{For: state.WaitFor(text), Until: text, Job: text, Question: text},
		&state.AgentGoesOn{By: text},
		&state.AgentFinished{Result: &result},
		&state.AgentFinished{Error: text},
		&state.RunFinished{Status: state.Status(text), Outcome: text, Detail: text, Reason: text, Result: &result},
	}
	var events []state.Event
	add := func(agent string, b state.Body) {
		events = append(events, state.Event{Seq: len(events) + 1, Time: nine, Agent: agent, State: text, Body: b})
	}
	last := len(bodies) - 1
	for _, b := range bodies[:last] {
		add(text, b)
	}
	for i, b := range waitsWith(text) {
		add(fmt.Sprint(text, i), b)
	}
	add(text, bodies[last])
	return events
}

// waitsWith returns an event for a wait of each kind, in which every string has the value text. The
// question has a choice that can't be listed, so its answers are shown with a placeholder.
func waitsWith(text string) []state.Body {
	until := "2026-03-02T09:34:06Z"
	return []state.Body{
		&state.AgentWaits{For: state.ForAnswer, Number: 1, Question: text, Choices: []string{text, "`"}, From: []string{text, text}, Until: until, TimeoutNext: text},
		&state.AgentWaits{For: state.ForAnswer, Number: 2, Question: text, Where: 3, Until: text},
		&state.AgentWaits{For: state.ForJob, Job: text},
		&state.AgentWaits{For: state.ForTime, Until: until},
		&state.AgentWaits{For: state.ForTime, Until: text},
		&state.AgentWaits{For: state.ForAgents},
	}
}

// showText returns the lines of a verbose console for the events that eventsWith returns.
func showText(t *testing.T, text string) []string {
	t.Helper()
	var out bytes.Buffer
	c := NewConsole(&out, NewLiveModel(), ConsoleOptions{Verbose: true, WorkflowID: cut(text, 64)})
	for _, e := range eventsWith(text) {
		report(t, c, e)
		must(t, c.Tick(nine.Add(time.Hour)))
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

var hostile = []string{
	"\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\", "\x1b", "\x1b\x1b[31m[31m", "\x1bc", "\u009b2J", "\x9b2J",
	"a\rb", "\r\n::error::x", "::error::x", "\x00::error::x", "\u200b::error::x", " \t::error::x", "::::x",
	"##[error]x", "a##[group]", "###[error]x", "#\u200b#[error]x", "#\x1b[0m#[error]x", "##\n[error]", "##", "[error]x",
	"\u202egpj.exe", "\u2028x\u2029", "\u0085", "\U000e0041", "\xff\xfe", "\ufeff", "", " ", "e\u0301", "中文", "👩‍👩‍👧",
}

// FuzzHostileText checks that a terminal or a job log only shows text from agents, file names and
// logs. The text must not have any other effect, such as moving the cursor or starting a command.
func FuzzHostileText(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	for _, filler := range []string{"x", "中", "\x1b[31m", "\x1b]", "\xff"} {
		f.Add("begin" + strings.Repeat(filler, 50_000/len(filler)) + "end")
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, line := range showText(t, text) {
			checkHarmless(t, text, line)
			assert.Check(t, columns(line) <= 1500, "a line of %d columns: %.300q", columns(line), line)
		}
		for _, width := range []int{3, 20} {
			got := cut(text, width)
			assert.Check(t, columns(got) <= width, "cut(%q, %d) = %q, which has %d columns", text, width, got, columns(got))
			if got := cutMiddle(text, width); columns(got) > width {
				t.Errorf("cutMiddle(%q, %d) = %q, which has %d columns", text, width, got, columns(got))
			}
		}
	})
}

// TestFormats checks how durations and amounts are formatted.
func TestFormats(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{formatMillis(0), "0.0s"}, {formatMillis(1249), "1.2s"}, {formatMillis(59_949), "59.9s"}, {formatMillis(59_950), "1m00s"},
		{formatMillis(184_499), "3m04s"}, {formatMillis(3_599_600), "1h00m"}, {formatMillis(3_725_000), "1h02m"}, {formatMillis(360_000_000), "100h00m"},
		{formatMillis(-5), "0.0s"}, {formatClock(90 * time.Second), "1m30s"}, {formatClock(999 * time.Millisecond), "0s"}, {formatClock(-time.Hour), "0s"},
		{state.USD(0).Dollars(), "$0.0000"}, {state.USD(12_340_000).Dollars(), "$0.0123"}, {state.USD(12_350_000).Dollars(), "$0.0124"},
		{state.USD(999_949_999).Dollars(), "$0.9999"}, {state.USD(999_950_000).Dollars(), "$1.00"}, {state.USD(1_234_567_890_123).Dollars(), "$1234.57"},
	} {
		assert.Check(t, is.Equal(c.got, c.want))
	}
}
