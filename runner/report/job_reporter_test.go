package report

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// jobLog is a JobLog that records its calls. It also records mistakes: nested groups, and an end of
// a group although no group is open.
type jobLog struct {
	strings.Builder
	open     bool
	mistakes []string
	prints   []string
	painted  []string
	visible  []string // lines that were printed outside of groups
	notes    []Annotation
}

func (l *jobLog) print(line string) {
	l.prints = append(l.prints, line)
	indent := ""
	if l.open {
		indent = "  "
	} else {
		l.visible = append(l.visible, line)
	}
	fmt.Fprintf(l, "%s%s\n", indent, line)
}

// ownColours matches the color sequences that a JobReporter is allowed to print.
var ownColours = regexp.MustCompile("\x1b\\[(0|3[23]|90|1;3[123])m")

func (l *jobLog) PrintStyled(line string) {
	l.painted = append(l.painted, line)
	l.print(ownColours.ReplaceAllString(line, ""))
}

func (l *jobLog) PrintOwn(line string) { l.PrintStyled(line) }

func (l *jobLog) Group(title string) {
	if l.open {
		l.mistakes = append(l.mistakes, "group "+title+" inside of a group")
	}
	l.open = true
	l.prints = append(l.prints, title)
	fmt.Fprintf(l, "▼ %s\n", title)
}

func (l *jobLog) EndGroup() {
	if !l.open {
		l.mistakes = append(l.mistakes, "end of a group that is not open")
	}
	l.open = false
	l.WriteString("▲\n")
}

func (l *jobLog) Annotate(a Annotation) {
	l.notes = append(l.notes, a)
	place := ""
	if a.File != "" {
		place = fmt.Sprintf(" %s:%d", a.File, a.Line)
	}
	fmt.Fprintf(l, "%s%s [%s]\n  %s\n", a.Level, place, a.Title, strings.ReplaceAll(a.Text, "\n", "\n  "))
}

func (l *jobLog) check(t *testing.T, what string) {
	t.Helper()
	assert.Check(t, len(l.mistakes) == 0 && !l.open, "%s: mistakes %q, a group open at the end: %t\n%s", what, l.mistakes, l.open, l.String())
}

// TestJobGolden compares the job logs for recorded runs with golden files. In these files, the
// lines inside groups are indented.
func TestJobGolden(t *testing.T) {
	for _, name := range recordedRuns {
		for reader, verbose := range map[string]bool{"job": false, "job-verbose": true} {
			t.Run(name+"/"+reader, func(t *testing.T) {
				var log jobLog
				f := newFanout(t)
				f.Add("job", NewJobReporter(&log, f.Model, ConsoleOptions{WorkflowID: "review-1a2b3c4d", Verbose: verbose}))
				replayFile(t, name, f, 5*time.Second, "start the workflow again")
				f.Close()
				log.check(t, name)
				goldenFile(t, name+"."+reader+".txt", log.String())
			})
		}
	}
}

// TestJobLinesAreBounded checks that a group contains at most about 64 KiB if a state prints
// megabytes of text, and that it contains the first and the last lines.
func TestJobLinesAreBounded(t *testing.T) {
	t.Parallel()
	var log jobLog
	f := newFanout(t)
	f.Add("job", NewJobReporter(&log, f.Model, ConsoleOptions{}))
	about := func(b state.Body) { f.Report(state.Event{Time: nine, Agent: "main", State: "A.md", Body: b}) }
	about(&state.StateStarted{Kind: "prompt"})
	for n := range 12_000 {
		about(&state.AgentOutput{Text: fmt.Sprintf("line %d. %s", n, strings.Repeat("x", n%999))})
	}
	about(&state.StateFinished{OK: true})
	f.Close()
	text := log.String()
	assert.Check(t, len(text) <= maxGroup+maxGroup/4 && len(text) >= maxGroup-maxGroup/16, "6 MB of lines: a job log of %d bytes, want about %d", len(text), maxGroup)
	for _, want := range []string{" line 0.", " line 11999. ", " lines left out …"} {
		assert.Check(t, is.Contains(text, want), "6 MB of lines: the job log has no %q", want)
	}
}

// TestJobHostileText checks that an untrusted text can't turn a line of the job log into a command.
func TestJobHostileText(t *testing.T) {
	for _, text := range append(hostile, "a\nb", "a\rb") {
		var log jobLog
		f := newFanout(t)
		f.Add("job", NewJobReporter(&log, f.Model, ConsoleOptions{Color: true, Verbose: true, WorkflowID: text}))
		for _, e := range eventsWith(text) {
			f.Report(e)
			f.Doing(text, text, runner.Progress{Text: text, Activity: text})
			f.Tick(nine.Add(time.Hour))
		}
		f.Note(text, text, text)
		f.Next(text)
		f.Close()
		for _, line := range log.prints {
			checkHarmless(t, text, line)
		}
	}
}

// progressLines lists cases for the progress line of the job log. deeds are the events and the
// progress that are reported, at intervals of ten seconds, after the start of a state. The progress
// line is printed one minute after the last of them.
var progressLines = []struct {
	what  string
	spent state.USD // cost of the run before this segment
	deeds []any
	want  string
}{
	{"nothing is known", 0, nil, "working for 1m00s"},
	{"a tool", 0, []any{&state.AgentOutput{Text: "Bash(make)"}, runner.Progress{Activity: "running Bash(make)"}}, "working for 1m20s; running Bash(make) for 1m00s"},
	{"the same tool, and words beside it", 0, []any{runner.Progress{Activity: "running Bash(make)"}, &state.AgentOutput{Text: "meanwhile"}, runner.Progress{Activity: "running Bash(make)"}},
		"working for 1m30s; running Bash(make) for 1m20s"},
	{"a script's stderr", 0, []any{&state.AgentOutput{Text: "compiling"}}, "working for 1m10s; last, 1m00s ago: compiling"},
	{"beyond what is told", 0, []any{&state.AgentOutput{Text: "compiling"}, runner.Progress{Text: "line 501"}},
		"working for 1m20s; last, 1m00s ago: line 501"},
	{"a command that verifies", 0, []any{runner.Progress{Activity: "checking go test ./..."}}, "working for 1m10s; checking go test ./... for 1m00s"},
	{"the second attempt", state.Dollar,
		[]any{runner.Progress{Activity: "checking make"}, &state.NodeAttempt{Attempt: 1, Spent: state.Spent{USD: state.Dollar / 2}, Results: []state.CommandResult{{Cmd: "make", RC: 2}}}},
		"working for 1m20s, attempt 2, $1.50 spent; last, 1m00s ago: verdict attempt 1 not done after 0.0s, $0.5000: `make` ended with exit code 2"},
	{"a budget", 0,
		[]any{&state.RunStarted{BudgetUSD: 10 * state.Dollar}, &state.StateFinished{OK: true, Spent: state.Spent{USD: state.Dollar}}, &state.StateStarted{}},
		"working for 1m00s, $1.00 of $10.00 spent"},
	{"a limit knows better", 0,
		[]any{&state.RunStarted{BudgetUSD: 10 * state.Dollar}, &state.Limit{Which: "budget", Value: 8.25, Max: 10}},
		"working for 1m20s, $8.25 of $10.00 spent"},
	{"text of others", 0, []any{runner.Progress{Activity: "running \x1b[31mBash\x1b[0m(\n::error::x##[group]"}},
		"working for 1m10s; running Bash( ::error::x# #[group] for 1m00s"},
}

// TestProgressLine checks the line about an agent's activity that Tick prints outside of groups.
func TestProgressLine(t *testing.T) {
	for _, c := range progressLines {
		var log jobLog
		f, at := newFanout(t), nine
		f.Model.Resume(&state.Run{Progress: state.Progress{TotalUSD: c.spent}})
		j := NewJobReporter(&log, f.Model, ConsoleOptions{})
		f.Add("job", j)
		for _, deed := range append([]any{&state.StateStarted{Kind: "prompt"}}, c.deeds...) {
			switch deed := deed.(type) {
			case runner.Progress:
				j.console.now = at // the time of the last call of Tick
				f.Doing("main", "A.md", deed)
			case *state.RunStarted, *state.Limit:
				f.Report(state.Event{Time: at, Body: deed.(state.Body)})
			case state.Body:
				f.Report(state.Event{Time: at, Agent: "main", State: "A.md", Body: deed})
			}
			at = at.Add(10 * time.Second)
		}
		f.Tick(at.Add(50 * time.Second))
		assert.Check(t, is.Equal(log.visible[len(log.visible)-1], "main at A.md: "+c.want), c.what)
		f.Close()
		log.check(t, c.what)
	}
}

// TestJobColours checks the colors of marks. Their texts are checked by the golden files of the job
// log.
func TestJobColours(t *testing.T) {
	for _, name := range []string{"forks", "failed"} {
		var log jobLog
		f := newFanout(t)
		f.Add("job", NewJobReporter(&log, f.Model, ConsoleOptions{WorkflowID: "review-1a2b3c4d", Color: true}))
		replayFile(t, name, f, 5*time.Second, "start again")
		goldenFile(t, name+".job-colour.txt", strings.ReplaceAll(strings.Join(log.painted, "\n")+"\n", "\x1b", "^["))
	}
}
