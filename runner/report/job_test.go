package report

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// jobLog records the calls. Groups inside of groups, and ends of groups that are not open,
// are mistakes.
type jobLog struct {
	strings.Builder
	open     bool
	mistakes []string
	prints   []string
	painted  []string
	visible  []string // outside of groups
	notes    []Annotation
}

func (l *jobLog) Print(line string) {
	l.prints = append(l.prints, line)
	indent := ""
	if l.open {
		indent = "  "
	} else {
		l.visible = append(l.visible, line)
	}
	fmt.Fprintf(l, "%s%s\n", indent, line)
}

// ownColours are the sequences that a Job may have in a line.
var ownColours = regexp.MustCompile("\x1b\\[(0|3[23]|90|1;3[123])m")

func (l *jobLog) Paint(line string) {
	l.painted = append(l.painted, line)
	l.Print(ownColours.ReplaceAllString(line, ""))
}

func (l *jobLog) Say(line string) { l.Paint(line) }

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
	if len(l.mistakes) > 0 || l.open {
		t.Errorf("%s: mistakes %q, a group open at the end: %t\n%s", what, l.mistakes, l.open, l.String())
	}
}

// TestJobGolden shows the job logs of recorded runs. Lines of groups are
// indented there.
func TestJobGolden(t *testing.T) {
	for _, name := range told {
		for reader, verbose := range map[string]bool{"job": false, "job-verbose": true} {
			t.Run(name+"/"+reader, func(t *testing.T) {
				var log jobLog
				j := NewJob(&log, JobOptions{WorkflowID: "review-1a2b3c4d", Verbose: verbose})
				replayFile(t, name, advised{&clocked{to: j, every: 5 * time.Second}, "start the workflow again"})
				closed(t, j)
				log.check(t, name)
				golden(t, name+"."+reader+".txt", log.String())
			})
		}
	}
}

// TestJobGroupsNeverNest states that whatever moment a run ends in, groups come
// one after the other and none stays open.
func TestJobGroupsNeverNest(t *testing.T) {
	for _, name := range told {
		var all collector
		replayFile(t, name, &all)
		for n := range all {
			var log jobLog
			j := NewJob(&log, JobOptions{Verbose: true})
			for _, e := range all[:n+1] {
				report(t, j, e)
			}
			closed(t, j)
			log.check(t, fmt.Sprintf("%d events of %s", n+1, name))
		}
	}
}

// TestJobSaysThatAgentsWork states that each active agent has a line outside of groups at
// least every 30 seconds, whether it is alone or not and whatever its group shows, and
// none after its end.
func TestJobSaysThatAgentsWork(t *testing.T) {
	for _, agents := range []int{1, 3} {
		for _, every := range []time.Duration{time.Second, 7 * time.Second, 29 * time.Second} {
			t.Run(fmt.Sprintf("%d agents, a tick every %s", agents, every), func(t *testing.T) { saysThatAgentsWork(t, agents, every) })
		}
	}
}

func saysThatAgentsWork(t *testing.T, agents int, every time.Duration) {
	var log jobLog
	j := NewJob(&log, JobOptions{})
	for i := range agents {
		report(t, j, state.Event{Time: nine, Agent: fmt.Sprintf("main_w%d", i), State: "IMPLEMENT.md", Body: &state.StateStarted{Kind: "prompt"}})
	}
	silence := map[string]time.Time{}
	for at := nine; at.Before(nine.Add(10 * time.Minute)); at = at.Add(every) {
		log.visible = nil
		report(t, j, state.Event{Time: at, Agent: "main_w0", State: "IMPLEMENT.md", Body: &state.AgentOutput{Text: "main_w0 says more"}})
		must(t, j.Tick(at))
		for i := range agents {
			id := fmt.Sprintf("main_w%d", i)
			if strings.Contains(strings.Join(log.visible, "\n"), id+" at IMPLEMENT.md: working for ") || silence[id].IsZero() {
				silence[id] = at
			}
			if at.Sub(silence[id]) > progressEvery {
				t.Fatalf("no line about %s outside of groups from %s to %s", id, silence[id], at)
			}
		}
	}
	closed(t, j)
	log.prints = nil
	if err := j.Tick(nine.Add(time.Hour)); err != nil || len(log.prints) > 0 {
		t.Errorf("tick after the end: %v, %q", err, log.prints)
	}
}

// TestJobLinesAreBounded states that a state that says megabytes gets a group of
// no more than 64 KiB, with its first and last lines, whether it is alone or not;
// for a verbose reader one of 4 MiB.
func TestJobLinesAreBounded(t *testing.T) {
	t.Parallel()
	for limit, verbose := range map[int]bool{maxReel: false, maxVerbose: true} {
		for _, agents := range []int{1, 2} {
			log := flooded(t, agents, verbose)
			if got := len(log); got > limit+limit/4 || got < limit-limit/16 {
				t.Errorf("%d agents, verbose %v, 6 MB of lines: a job log of %d bytes, want about %d", agents, verbose, got, limit)
			}
			for _, want := range []string{" line 0.", " line 11999. ", " lines left out …"} {
				if !strings.Contains(log, want) {
					t.Errorf("%d agents, verbose %v, 6 MB of lines: the job log has no %q", agents, verbose, want)
				}
			}
		}
	}
}

// flooded is the job log of a state that says 6 MB.
func flooded(t *testing.T, agents int, verbose bool) string {
	var log jobLog
	j := NewJob(&log, JobOptions{Verbose: verbose})
	for i := range agents {
		report(t, j, state.Event{Time: nine, Agent: fmt.Sprintf("main_w%d", i), State: "A.md", Body: &state.StateStarted{Kind: "prompt"}})
	}
	for n := range 12_000 {
		text := fmt.Sprintf("line %d. %s", n, strings.Repeat("x", n%999))
		report(t, j, state.Event{Time: nine, Agent: "main_w0", State: "A.md", Body: &state.AgentOutput{Text: text}})
	}
	report(t, j, state.Event{Time: nine, Agent: "main_w0", State: "A.md", Body: &state.StateFinished{OK: true}})
	closed(t, j)
	return log.String()
}

// TestJobKeepsTheLayoutOfOutput states that results and the output of commands keep their
// white space in the job log.
func TestJobKeepsTheLayoutOfOutput(t *testing.T) {
	text := state.Text("func f() {\n\treturn  1 \n}\n\n  - a    b\n  ::c\n\u3000::d")
	want := []string{"func f() {", "    return  1", "}", "", "  - a    b", "  : :c", " : :d"}
	for what, body := range map[string]state.Body{
		"result":            &state.RunFinished{Status: state.Completed, Result: &text},
		"output of command": &state.NodeAttempt{Attempt: 1, Results: []state.CommandResult{{Cmd: "make", RC: 1, Tail: string(text)}}},
	} {
		var log jobLog
		j := NewJob(&log, JobOptions{})
		report(t, j, state.Event{Time: nine, Agent: "main", State: "A.md", Body: body})
		closed(t, j)
		if !strings.Contains(strings.Join(log.prints, "\n"), strings.Join(want, "\n")) {
			t.Errorf("%s %q: got lines %q, want %q among them", what, text, log.prints, want)
		}
	}
}

// TestJobHostileText states that no text of others makes a line of the job log a command.
func TestJobHostileText(t *testing.T) {
	for _, text := range append(hostile, "a\nb", "a\rb") {
		var log jobLog
		j := NewJob(&log, JobOptions{Verbose: true, WorkflowID: text})
		for _, e := range everywhere(text) {
			report(t, j, e)
			must(t, j.Tick(nine.Add(time.Hour)))
		}
		must(t, errors.Join(j.Note(text, text, text), j.Next(text)))
		closed(t, j)
		for _, line := range log.prints {
			harmless(t, text, line)
		}
	}
}
