package report

import (
	"errors"
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
				j := NewJobReporter(&log, NewLiveModel(), ConsoleOptions{WorkflowID: "review-1a2b3c4d", Verbose: verbose})
				replayFile(t, name, advisedReporter{&tickingReporter{to: j, every: 5 * time.Second}, "start the workflow again"})
				closed(t, j)
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
	j := NewJobReporter(&log, NewLiveModel(), ConsoleOptions{})
	about := func(b state.Body) { report(t, j, state.Event{Time: nine, Agent: "main", State: "A.md", Body: b}) }
	about(&state.StateStarted{Kind: "prompt"})
	for n := range 12_000 {
		about(&state.AgentOutput{Text: fmt.Sprintf("line %d. %s", n, strings.Repeat("x", n%999))})
	}
	about(&state.StateFinished{OK: true})
	closed(t, j)
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
		j := NewJobReporter(&log, NewLiveModel(), ConsoleOptions{Color: true, Verbose: true, WorkflowID: text})
		for _, e := range eventsWith(text) {
			report(t, j, e)
			must(t, errors.Join(j.Doing(text, text, runner.Progress{Text: text, Activity: text}), j.Tick(nine.Add(time.Hour))))
		}
		must(t, errors.Join(j.Note(text, text, text), j.Next(text)))
		closed(t, j)
		for _, line := range log.prints {
			checkHarmless(t, text, line)
		}
	}
}
