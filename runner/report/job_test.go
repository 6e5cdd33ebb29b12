package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// jobLog writes down what a job log is told. Groups inside of groups, and ends
// of groups that are not open, are mistakes.
type jobLog struct {
	strings.Builder
	open     bool
	mistakes []string
	prints   []string
	notes    []Annotation
}

func (l *jobLog) Print(line string) {
	l.prints = append(l.prints, line)
	indent := ""
	if l.open {
		indent = "  "
	}
	fmt.Fprintf(l, "%s%s\n", indent, line)
}

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
				j := NewJob(&log, JobOptions{WorkflowID: "review-1a2b3c4d", Verbose: verbose, Resume: "start the workflow again"})
				replayFile(t, name, &clocked{to: j, every: 5 * time.Second})
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

// TestJobSaysThatAgentsWork states that of each agent at work something is said
// at least every 30 seconds, whether it is alone or not, and nothing after its
// end.
func TestJobSaysThatAgentsWork(t *testing.T) {
	for _, agents := range []int{1, 3} {
		for _, every := range []time.Duration{time.Second, 7 * time.Second, 29 * time.Second} {
			var log jobLog
			j := NewJob(&log, JobOptions{})
			for i := range agents {
				report(t, j, state.Event{Time: nine, Agent: fmt.Sprintf("main_w%d", i), State: "IMPLEMENT.md", Body: &state.StateStarted{Kind: "prompt"}})
			}
			report(t, j, state.Event{Time: nine, Agent: "main_w0", State: "IMPLEMENT.md", Body: &state.AgentOutput{Text: "Bash(make)"}})
			silence := map[string]time.Time{}
			for at := nine; at.Before(nine.Add(10 * time.Minute)); at = at.Add(every) {
				log.prints = nil
				if err := j.Tick(at); err != nil {
					t.Fatal(err)
				}
				for i := range agents {
					id := fmt.Sprintf("main_w%d", i)
					if strings.Contains(strings.Join(log.prints, "\n"), id) || silence[id].IsZero() {
						silence[id] = at
					}
					if at.Sub(silence[id]) > sayEvery {
						t.Fatalf("%d agents, tick every %s: nothing of %s from %s to %s", agents, every, id, silence[id], at)
					}
				}
			}
			if want := "main_w0 at IMPLEMENT.md: working for 1m"; !strings.Contains(log.String(), want) || !strings.Contains(log.String(), "last: Bash(make)") {
				t.Errorf("job log has no %q with what came last:\n%s", want, log.String())
			}
			log.prints = nil
			closed(t, j)
			log.prints = nil
			if err := j.Tick(nine.Add(time.Hour)); err != nil || len(log.prints) > 0 {
				t.Errorf("tick after the end: %v, %q", err, log.prints)
			}
		}
	}
}

// TestJobLinesAreBounded states that a state that says megabytes gets a group of
// no more than 64 KiB, with its first and last lines, whether it is alone or not.
func TestJobLinesAreBounded(t *testing.T) {
	for _, agents := range []int{1, 2} {
		var log jobLog
		j := NewJob(&log, JobOptions{Verbose: true})
		for i := range agents {
			report(t, j, state.Event{Time: nine, Agent: fmt.Sprintf("main_w%d", i), State: "A.md", Body: &state.StateStarted{Kind: "prompt"}})
		}
		for n := range 20_000 {
			text := fmt.Sprintf("line %d. %s", n, strings.Repeat("x", n%300))
			report(t, j, state.Event{Time: nine, Agent: "main_w0", State: "A.md", Body: &state.AgentOutput{Text: text}})
		}
		report(t, j, state.Event{Time: nine, Agent: "main_w0", State: "A.md", Body: &state.StateFinished{OK: true}})
		closed(t, j)
		got := log.String()
		if len(got) > 80<<10 || len(got) < 60<<10 {
			t.Errorf("%d agents, 3 MB of lines: a job log of %d bytes", agents, len(got))
		}
		for _, want := range []string{" line 0.\n", " line 19999. ", " lines left out …"} {
			if !strings.Contains(got, want) {
				t.Errorf("%d agents, 3 MB of lines: the job log has no %q", agents, want)
			}
		}
	}
}

// TestJobHostileText states that no text of others makes a line of the job log
// more than a line to be read.
func TestJobHostileText(t *testing.T) {
	for _, text := range append(hostile, "a\nb", "a\rb") {
		var log jobLog
		j := NewJob(&log, JobOptions{Verbose: true, WorkflowID: text, Resume: text})
		for _, e := range everywhere(text) {
			report(t, j, e)
			if err := j.Tick(nine.Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Note(text, text, text); err != nil {
			t.Fatal(err)
		}
		closed(t, j)
		for _, line := range log.prints {
			harmless(t, text, line)
		}
	}
}
