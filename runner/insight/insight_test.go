package insight

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

var nine = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

// at returns the time that is the given number of seconds after nine o'clock.
func at(seconds int) time.Time { return nine.Add(time.Duration(seconds) * time.Second) }

// log is an event log for tests. Each event is one second later than the previous one.
type log []state.Event

func (l *log) add(exec int, agent, name string, b state.Body) {
	*l = append(*l, state.Event{Seq: len(*l) + 1, Time: at(len(*l)), Agent: agent, State: name, Exec: exec, Body: b})
}

func (l *log) events() iter.Seq2[state.Event, error] {
	return func(yield func(state.Event, error) bool) {
		for _, e := range *l {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// memoryTranscripts contains transcripts in memory, by the id of the conversation.
type memoryTranscripts map[string][]runner.Message

// Read implements Transcripts.
func (t memoryTranscripts) Read(c runner.Conversation, _, _ int64, each func(runner.Message) error) error {
	if t[c.ID] == nil {
		return fmt.Errorf("conversation %s: %w", c.ID, fs.ErrNotExist)
	}
	for _, m := range t[c.ID] {
		if err := each(m); err != nil {
			return err
		}
	}
	return nil
}

func sourceOf(l *log, t memoryTranscripts) Source {
	return Source{
		Run:    &state.Run{WorkflowID: "one", Progress: state.Progress{Status: state.Completed}},
		Events: l.events(), Agents: map[string]Transcripts{protocol.BackendClaude: t},
	}
}

func build(t *testing.T, s Source) *Report {
	t.Helper()
	r, err := Build(s)
	assert.NilError(t, err)
	return r
}

// prompt adds the events of a successful execution of a prompt.
func (l *log) prompt(exec int, agent, session string) {
	l.add(exec, agent, "A.md", &state.StateStarted{Kind: "prompt", SessionID: session, Cwd: "/d"})
	l.add(exec, agent, "A.md", &state.StateFinished{OK: true, SessionID: session, CLI: "2.1.330 /bin/claude", Spent: state.Spent{USD: state.Dollar}})
	l.add(exec, agent, "A.md", &state.Transition{Tag: "goto", Target: "A.md", From: "A.md"})
}

// TestUnfinishedRunIsInterrupted checks that an execution without an end has the status
// interrupted, unless a process drives the run. Other kinds of interruptions are tested with
// report.Model.
func TestUnfinishedRunIsInterrupted(t *testing.T) {
	l := &log{}
	l.add(0, "", "", &state.RunStarted{})
	l.add(1, "main", "A.md", &state.StateStarted{Kind: "prompt", SessionID: "s"})
	s := sourceOf(l, nil)
	s.Run.Progress.Status = state.Running
	for isDriven, want := range map[bool]string{false: report.Interrupted, true: report.Running} {
		s.IsDriven = isDriven
		r := build(t, s)
		assert.Check(t, is.Equal(r.Status, want), "driven: %v", isDriven)
		assert.Check(t, is.Equal(r.Executions[0].Status, want), "driven: %v", isDriven)
	}
}

// TestMessagesBelongToExecutions checks that a message belongs to the last execution that started
// to use the conversation before the message was written. Messages that were copied into a branch
// must not belong to any execution.
func TestMessagesBelongToExecutions(t *testing.T) {
	p := &conversations{byID: map[string]*conversation{}}
	start := func(exec int, i state.Invocation) {
		p.addAgents([]*state.Agent{{ID: "main", Exec: &state.Exec{Iteration: exec, Started: at(10 * exec), Running: &i}}})
	}
	start(1, state.Invocation{SessionID: "s"})
	start(2, state.Invocation{SessionID: "s", Length: new(int64(100))})
	start(2, state.Invocation{SessionID: "s", CLIID: "x"}) // a further invocation of execution 2, for a reminder
	start(3, state.Invocation{SessionID: "b", From: "s"})
	start(4, state.Invocation{SessionID: "s", Mode: state.Resume})
	for _, tt := range []struct {
		session       string
		seconds, want int // time of a message, and the execution that it belongs to
	}{
		{"s", 9, 0}, {"s", 10, 1}, {"s", 19, 1}, {"s", 20, 2}, {"s", 39, 2}, {"s", 99, 4}, {"b", 29, 0}, {"b", 30, 3},
	} {
		assert.Check(t, is.Equal(p.get(tt.session).owner(runner.Message{Time: at(tt.seconds)}, 7), tt.want), "message of %s after %d seconds: execution", tt.session, tt.seconds)
	}
	c := p.get("s")
	first, second := c.owner(runner.Message{Offset: 99}, 7), c.owner(runner.Message{Offset: 100}, 7)
	assert.Check(t, first == 1 && second == 2, "messages without a time: got executions %d and %d, want 1 and 2, by their places", first, second)
	c.starts[0].from = unknownOffset
	assert.Check(t, c.CLI == "x" && len(c.starts) == 3 && c.owner(runner.Message{}, 7) == 7, "got the id %q and %+v, want x and three executions, and a message of which nothing is known with the execution before it", c.CLI, c.starts)
}

// TestFailedAndNewestKeepWholeConversations checks a report without enough room for all
// conversations. The conversations of failed executions and of the newest executions must be
// complete. Of the others, the first and the last messages must be shown.
func TestFailedAndNewestKeepWholeConversations(t *testing.T) {
	const n = 300
	l, all := &log{}, memoryTranscripts{}
	for i := 1; i <= n; i++ {
		session, agent := fmt.Sprint("s", i), fmt.Sprint("main_a", i)
		l.prompt(i, agent, session)
		if i == 7 {
			(*l)[len(*l)-2].Body.(*state.StateFinished).OK = false
		}
		all[session] = []runner.Message{{Time: at(len(*l)), From: runner.FromUser, Text: "begin"}}
		for range 20 {
			all[session] = append(all[session], runner.Message{Time: at(len(*l)), From: runner.FromTool, Tool: "Bash", Text: strings.Repeat("<line>\n", 700)})
		}
		all[session] = append(all[session], runner.Message{Time: at(len(*l)), From: runner.FromAgent, Text: "end"})
	}
	r := build(t, sourceOf(l, all))
	for i, x := range r.Executions {
		first, last := x.Messages[0], x.Messages[len(x.Messages)-1]
		assert.Equal(t, first.Text, "begin", "execution %d", x.N)
		assert.Equal(t, last.Text, "end", "execution %d", x.N)
		if isInteresting := x.N == 7 || x.N > n-20; (isInteresting || x.N < n-80) && isInteresting != (x.Gap == nil) {
			t.Errorf("execution %d: got %d messages, %+v left out", x.N, len(x.Messages), x.Gap)
		}
		assert.Check(t, x.Gap == nil || x.Gap.Messages+len(x.Messages) == 22, "execution %d: got %d messages and the gap %+v, want 22 in all", i, len(x.Messages), x.Gap)
	}
	size := sizeOf(t, r)
	assert.Check(t, size <= 14<<20 && size >= 9<<20, "got %d bytes, want nearly as many as the limit", size)
	assert.Assert(t, is.Len(r.LeftOut, 1), "left out")
	assert.Check(t, is.Contains(r.LeftOut[0], "Only the first and the last messages"), "left out")
}

// sizeOf returns how many bytes the texts of a report take in a page.
func sizeOf(t *testing.T, r *Report) int {
	t.Helper()
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false)
	assert.NilError(t, enc.Encode(r))
	return len(html.EscapeString(data.String())) - 4*strings.Count(data.String(), `"`)
}

// TestNoPartialSecrets checks that secrets are masked before texts are shortened. If the transcript
// reader has truncated a text, the end of the text must be removed, since it may contain a part of
// a secret.
func TestNoPartialSecrets(t *testing.T) {
	const secret = "correct-horse-battery-staple"
	long := strings.Repeat("x", maxToolText*2/3-60) + strings.Repeat(secret+" ", 10) + strings.Repeat("y", maxToolText)
	cutOff := strings.Repeat("x", runner.MaxMessageText-10) + secret[:10]
	l := &log{}
	l.prompt(1, "main", "s")
	all := memoryTranscripts{"s": {
		{Time: at(9), From: runner.FromTool, Tool: "Bash", Input: secret, Text: long}, {Time: at(9), From: runner.FromAgent, Text: cutOff, Cut: 18, Subagent: secret},
	}}
	s := sourceOf(l, all)
	s.Hide = func(text string) string { return strings.ReplaceAll(text, secret, "***") }
	r := build(t, s)
	for _, m := range r.Executions[0].Messages {
		for at := 0; at+8 < len(secret); at++ {
			part := secret[at : at+8]
			assert.Check(t, !strings.Contains(m.Text+m.Input+m.Subagent, part), "message of %s: got %q in it", m.From, part)
		}
		assert.Check(t, m.Cut != 0, "message of %s: want a note on what is cut", m.From)
	}
}

// TestHugeRunsAreBounded checks that a report of many executions with long texts contains only the
// failed and the newest executions, and that its totals include all executions.
func TestHugeRunsAreBounded(t *testing.T) {
	const n = 20_000
	l, text := &log{}, strings.Repeat("&", 4000)
	for i := 1; i <= n; i++ {
		agent := fmt.Sprint("main_a", i)
		l.add(i, agent, "A.sh", &state.StateStarted{Kind: "script"})
		l.add(i, agent, "A.sh", &state.AgentOutput{Text: text[:1000]})
		l.add(i, agent, "A.sh", &state.NodeAttempt{Attempt: 1, Results: []state.CommandResult{{Cmd: "x", Tail: text}}})
		l.add(i, agent, "A.sh", &state.StateFinished{OK: i != 3, Spent: state.Spent{USD: 1000}, Error: text, StdoutTail: text, StderrTail: text})
		result := state.Text(text)
		l.add(i, agent, "A.sh", &state.AgentFinished{Result: &result})
	}
	r := build(t, sourceOf(l, nil))
	if len(r.Executions) != maxRows || r.Executions[0].N != 3 || r.Executions[maxRows-1].N != n || len(r.Agents) > maxRows {
		t.Errorf("got %d executions from %d on and %d agents", len(r.Executions), r.Executions[0].N, len(r.Agents))
	}
	size := sizeOf(t, r)
	assert.Check(t, size <= 14<<20, "got %d bytes, want at most 14 MiB", size)
	x := r.Executions[0]
	assert.Check(t, x.Stdout == "" && x.IsCut, "got the output of an execution that 19,000 others followed, want a note that it is left out: they would not fit into memory")
	sum := r.Costs.ByState[0]
	assert.Check(t, sum.Executions == n && sum.Failed == 1 && sum.Spent.USD == n*1000, "sum of the state: got %+v, want that of all executions", sum)
	assert.Check(t, is.Equal(len(r.LeftOut), 3), "left out: got %q, want lines on executions, agents and output", r.LeftOut)
}

// TestConversationsAreInOrder checks that the messages of an execution are sorted by time if they
// come from several conversations, which are read in any order. A tool call that was denied must be
// marked as denied.
func TestConversationsAreInOrder(t *testing.T) {
	x := report.Exec{Refusals: []state.Refusal{{Use: "Bash(git push)", Reason: "This command requires approval"}}}
	for _, seconds := range [][]int{{30, 31}, {10, 11, 12}, {20}} {
		one := &messageBuffer{limit: 1 << 20, dropped: len(seconds) / 2}
		for _, s := range seconds {
			one.add(runner.Message{From: runner.FromTool, Time: at(s), Failed: s != 31, Text: map[bool]string{true: "This  command\nrequires approval", false: "boom"}[s == 11]})
		}
		one.moveTo(&x)
	}
	var got []string
	for _, m := range x.Messages {
		got = append(got, fmt.Sprint(m.Time.Second(), m.Failed, m.Refused))
	}
	diff := cmp.Diff([]string{"10 true false", "11 true true", "12 true false", "20 true false", "30 true false", "31 false false"}, got)
	assert.Check(t, diff == "" && *x.Gap == (report.Gap{After: 6, Messages: 2}), "gap %+v, messages (-want +got):\n%s", *x.Gap, diff)
}
