package report

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

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
	f := newFanout(t)
	f.Add("console", NewConsole(&out, f.Model, ConsoleOptions{Verbose: true, WorkflowID: cut(text, 64)}))
	for _, e := range eventsWith(text) {
		f.Report(e)
		f.Tick(nine.Add(time.Hour))
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

var hostile = []string{
	"\x1f@octocat\x1f", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\", "\x1b", "\x1b\x1b[31m[31m", "\x1bc", "\u009b2J", "\x9b2J",
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

var (
	fenceForm   = regexp.MustCompile("^(`{3,})(text|mermaid)\n$")
	htmlForm    = regexp.MustCompile("<code>[^<>]*</code>")
	escapedForm = regexp.MustCompile(`\\[[:punct:]]`)
)

// skeleton returns a summary without the texts that Markdown does not interpret: the content of
// fenced code blocks, code spans and code elements. It parses Markdown like CommonMark, and fails
// the test if a fenced code block is not closed.
func skeleton(t *testing.T, markdown string) string {
	t.Helper()
	var b strings.Builder
	closing := 0
	for line := range strings.Lines(markdown) {
		switch m := fenceForm.FindStringSubmatch(line); {
		case closing > 0:
			run := len(line) - len(strings.TrimLeft(line, "`"))
			if run >= closing && strings.TrimSpace(line[run:]) == "" {
				closing = 0
			}
		case m != nil:
			closing = len(m[1])
			b.WriteString("[fence]\n")
		case strings.HasPrefix(line, "<details>"):
			b.WriteString(withoutCode(line))
		default:
			b.WriteString(withoutCode(withoutSpans(line)))
		}
	}
	assert.Check(t, closing <= 0, "a fence is not closed:\n%s", markdown)
	return b.String()
}

// withoutCode returns a line without the content of its code elements.
func withoutCode(line string) string {
	if !strings.Contains(line, "<code>") {
		return line
	}
	return htmlForm.ReplaceAllString(line, "[code]")
}

// withoutSpans returns a line without the content of its code spans.
func withoutSpans(line string) string {
	var b strings.Builder
	at, runs := 0, runsOf(line)
	for len(runs) > 0 {
		open := runs[0]
		runs = runs[1:]
		b.WriteString(line[at:open[0]])
		at = open[0]
		i := slices.IndexFunc(runs, func(r [2]int) bool { return r[1]-r[0] == open[1]-open[0] })
		if i < 0 {
			b.WriteString(line[at:open[1]])
			at = open[1]
			continue
		}
		b.WriteString("[code]")
		at, runs = runs[i][1], runs[i+1:]
	}
	return b.String() + line[at:]
}

// runsOf returns the start and the end of each sequence of backticks in a line.
func runsOf(line string) [][2]int {
	var runs [][2]int
	for i := range len(line) {
		switch n := len(runs); {
		case line[i] != '`':
		case n > 0 && runs[n-1][1] == i:
			runs[n-1][1]++
		default:
			runs = append(runs, [2]int{i, i + 1})
		}
	}
	return runs
}

// markdownOf returns the summary and the overview of a run in which every string has the value
// text.
func markdownOf(t *testing.T, text string) (summary, overview string) {
	t.Helper()
	var p page
	f := newFanout(t)
	s := NewSummary(f.Model, SummaryOptions{Write: p.write, WorkflowID: text, Title: text, Workflow: workflow(), JobContext: JobContext{Prefix: "/raymond", Job: text}})
	f.Add("summary", s)
	for _, e := range eventsWith(text) {
		f.Report(e)
	}
	f.Model.SetWaitDetails([]Wait{{Agent: text + "2", Error: text, State: text, AgentWaits: state.AgentWaits{For: state.ForJob, Job: text}}})
	s.SetError(text)
	f.Close()
	return p.text, s.Overview()
}

// markup lists texts with a special meaning in Markdown, in HTML or on GitHub.
var markup = []string{
	"`", "``", "```", "```\n", "\n```\n# x\n", "\n~~~\n", "````text\n", "` ` `", "|", "\\|", "\\", "a\\", "\n\n", "\n---\n", "\n| a |\n",
	"<b>", "</details>", "\n</details>\n\n<img src=x>", "</code>", "<!--", "-->", "&lt;", "&amp;", "&", "<a href=\"", "<![CDATA[",
	"**b**", "_i_", "[x](http://x)", "![x](y)", "[x]: http://y", "# h", "\n# h", "- x", "\n1. x", "> q", "@octocat", "#123", "org/repo#1",
	"https://example.com", "www.example.com", "a@example.com", ":bug:", "$x$", "$$", "\t", "    code", "\r", "~~~", "[^1]", "\n+++",
}

// checkEscaped fails the test if an untrusted text occurs outside of code. There, GitHub would
// interpret it as Markdown.
func checkEscaped(t *testing.T, text string) {
	t.Helper()
	const mark = "Ω"
	summary, overview := markdownOf(t, mark+text+mark)
	for what, got := range map[string]string{"summary": summary, "overview": overview} {
		bones := skeleton(t, got)
		assert.Check(t, !strings.Contains(bones, mark), "%s of %q everywhere: got it outside of code in\n%s\n%s", what, text, bones, got)
	}
	checkTableWidth(t, text, summary)
}

// checkTableWidth checks that each row of each table has as many cells as the table's header.
func checkTableWidth(t *testing.T, text, markdown string) {
	t.Helper()
	lines := strings.Split(markdown, "\n")
	want := 0
	for i, line := range lines {
		isRow := strings.HasPrefix(line, "| ")
		if !isRow {
			want = 0
			continue
		}
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "| ---") {
			want = strings.Count(lines[i+1], "|")
		}
		n := strings.Count(line, "|")
		assert.Check(t, want <= 0 || n == want, "summary of %q everywhere has a row with %d bars, want %d: %s", text, n, want, line)
	}
}

// TestProse checks that in a line of prose only text between two backticks is interpreted, as code.
// All other characters with a meaning in Markdown must be escaped.
func TestProse(t *testing.T) {
	for _, text := range markup {
		got := prose("x "+text+" y", 200)
		left := htmlForm.ReplaceAllString(got, "")
		assert.Check(t, !strings.ContainsAny(withoutSpans(left), "@$"), "prose(%q):\n got %q\nwant no @ and no $ outside of code", text, got)
		left = escapedForm.ReplaceAllString(left, "")
		left = strings.ReplaceAll(withoutSpans(left), "[code]", "")
		assert.Check(t, !strings.ContainsAny(left, "`*_{}[]<>()#+-.!|~:=&$@^\\\n"), "prose(%q):\n got %q\nwant every mark escaped or in code", text, got)
	}
	for text, want := range map[string]string{
		"set `a|b` or x_y": "set `a∣b` or x\\_y", "`a` and `b": "\\`a\\` and \\`b", "a `` b": "a  b",
	} {
		assert.Check(t, is.Equal(prose(text, 200), want), "prose(%q)", text)
	}
}

// crowdEvents returns the events of a run with many agents. Half of the agents fail. All strings of
// the events contain text.
func crowdEvents(text string, agents int) []state.Event {
	result, all := state.Text(text), eventsWith(text)
	events := []state.Event{{Time: nine, Body: &state.RunStarted{BudgetUSD: state.Dollar}}}
	for i := range agents {
		for _, e := range all[1 : len(all)-1] {
			end, isEnd := e.Body.(*state.AgentFinished)
			if e.Agent != text || isEnd && (end.Error == "") != (i%2 == 0) {
				continue
			}
			e.Seq, e.Agent, e.State = 0, fmt.Sprintf("main_%.60s%d", text, i), fmt.Sprintf("%.60s.md", text)
			times := 1
			switch e.Body.(type) {
			case *state.NodeAttempt, *state.AgentOutput:
				times = 5
			}
			events = append(events, slices.Repeat([]state.Event{e}, times)...)
		}
	}
	return append(events, state.Event{Time: nine, Body: &state.RunFinished{Status: state.Failed, Reason: text, Result: &result}})
}

// summaryOf returns the summary and the overview after the given events.
func summaryOf(t testing.TB, events []state.Event, text string) (summary, overview string) {
	t.Helper()
	var p page
	s := NewSummary(NewLiveModel(), SummaryOptions{
		Write: p.write, Workflow: workflow(), WorkflowID: text, Title: text, Next: text,
		Differences: slices.Repeat([]string{text}, 10), Notes: slices.Repeat([]string{text}, 35),
	})
	for _, e := range events {
		s.model.Add(e)
		must(t, s.Report(e))
	}
	must(t, errors.Join(s.Next(text), s.Close()))
	return p.text, s.Overview()
}

// fillers lists texts that become much longer when they are escaped for a summary.
var fillers = []string{"x", "`", "` ", "中", "\xff", "<", "&", "@", "$", "\n", "`\n", "|", "🙂", "a@", "\x1b[", "\u0301"}

// TestSummaryStaysBelowTheLimit checks that summaries and comments are not longer than GitHub
// allows. A shortened summary must contain a note about that. It must still contain the status, the
// cost, the failures, the result, the next steps, the path and the table, and must be well-formed.
func TestSummaryStaysBelowTheLimit(t *testing.T) {
	t.Parallel()
	for agents, some := range map[int][]string{3: {"`", "中", "<", "\n"}, 120: {"中"}, 1200: {"`x"}} {
		for _, filler := range some {
			size := 700_000 / (agents * 10) // size of each text
			text := "begin" + strings.Repeat(filler, max(1, size/len(filler))) + "end"
			checkLimits(t, fmt.Sprintf("%d agents and %d bytes of %q", agents, len(text), filler), crowdEvents(text, agents), text, agents > 100)
		}
	}
	tails := strings.Repeat("=== RUN   `TestIt`\n", 220)
	checkLimits(t, "120 agents with 4 KiB in each place, tails of attempts among them", crowdEvents(tails, 120), tails, true)
	checkLimits(t, "5 agents with little to say", crowdEvents(strings.Repeat("word ", 800), 5), "x", false)
	noise := strings.Repeat("`noise` \xff\n", 5_000)
	checkLimits(t, "noise", crowdEvents(noise, 1), noise, false)
}

// checkLimits checks the sizes and the contents of the summary and the overview of a run. If isCut
// is set, the summary must contain a note about omissions.
func checkLimits(t *testing.T, what string, events []state.Event, text string, isCut bool) {
	t.Helper()
	got, overview := summaryOf(t, events, text)
	bones := skeleton(t, overview)
	if len(overview) >= 8<<10 || !utf8.ValidString(overview) || strings.Contains(bones, "mermaid") || strings.Contains(bones, "| ") || strings.Contains(bones, "<details>") {
		t.Errorf("%s: an overview of %d bytes, want less than 8 KiB without what is folded:\n%s", what, len(overview), overview)
	}
	for _, want := range []string{
		"## ❌ Failed: ", " of $1.00** (", " in state ", "\n**Result**:", "\n**Next:** ", "\n### Path\n\n```mermaid\n", "\n### States\n\n", "\n| # |",
	} {
		assert.Check(t, strings.Contains(got, want) || (want == " in state " && what == "noise"), "%s: the summary has no %q", what, want)
	}
	hasNote := strings.Contains(got, "- To stay below GitHub's limit for summaries, ")
	assert.Check(t, hasNote == isCut && (!isCut || len(got) >= 500_000), "%s: a summary of %d bytes says that it was cut: %t, want %t", what, len(got), hasNote, isCut)
	bones = skeleton(t, got)
	open, shut := strings.Count(bones, "<details>"), strings.Count(bones, "</details>\n")
	assert.Check(t, len(got) < 1_000_000 && utf8.ValidString(got) && open == shut, "%s: a summary of %d bytes, valid UTF-8 %t, %d parts begun and %d ended", what, len(got), utf8.ValidString(got), open, shut)
}

// FuzzSummary checks that any text is shown without being interpreted as Markdown, and that no
// summary is too long.
func FuzzSummary(f *testing.F) {
	for i, text := range slices.Concat(markup, hostile, fillers) {
		f.Add(text, uint8(i%5), uint16(i*977%40))
	}
	f.Fuzz(func(t *testing.T, text string, agents uint8, times uint16) {
		if len(text) > 1000 {
			return
		}
		if columns(plain(text)) < widestCell-2 {
			checkEscaped(t, text)
		}
		long := strings.Repeat(text, int(times)%200)
		got, _ := summaryOf(t, crowdEvents(long, int(agents)%16), long)
		assert.Check(t, len(got) < 1_000_000 && utf8.ValidString(got), "%d agents with %d times %q: a summary of %d bytes, valid UTF-8 %t", agents%16, int(times)%200, text, len(got), utf8.ValidString(got))
		skeleton(t, got)
	})
}
