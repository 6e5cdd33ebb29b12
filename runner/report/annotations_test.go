package report

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/state"
)

func inWorkflows(name string) string { return ".github/raymond/" + name }

// TestAnnotationsGolden shows the annotations of recorded runs.
func TestAnnotationsGolden(t *testing.T) {
	for _, name := range told {
		t.Run(name, func(t *testing.T) {
			var log jobLog
			a := NewAnnotations(&log, AnnotationOptions{Scope: inWorkflows})
			replayFile(t, name, advised{a, "start the workflow again"})
			closed(t, a)
			golden(t, name+".annotations.txt", log.String())
		})
	}
}

func annotated(t *testing.T, events ...state.Event) []Annotation {
	t.Helper()
	var log jobLog
	a := NewAnnotations(&log, AnnotationOptions{})
	for _, e := range events {
		report(t, a, e)
	}
	closed(t, a)
	return log.notes
}

// TestTenAnnotationsOfALevel states that at most ten annotations of each level are shown,
// nine of them at once, and that the tenth says how many more there are.
func TestTenAnnotationsOfALevel(t *testing.T) {
	for _, n := range []int{0, 1, 9, 10, 11, 40} {
		var log jobLog
		a := NewAnnotations(&log, AnnotationOptions{})
		for i := range n {
			report(t, a, state.Event{Agent: "main", State: "A.md", Body: &state.AgentFinished{Error: fmt.Sprintf("error %d", i+1)}})
			report(t, a, state.Event{Agent: "main", State: "A.md", Body: &state.Retry{Error: fmt.Sprintf("error %d", i+1)}})
		}
		if want := 2 * min(n, 9); len(log.notes) != want {
			t.Errorf("%d errors and warnings: %d annotations at once, want %d", n, len(log.notes), want)
		}
		closed(t, a)
		if want := 2 * min(n, 10); len(log.notes) != want {
			t.Errorf("%d errors and warnings: %d annotations, want %d", n, len(log.notes), want)
		}
		if n < 10 {
			continue
		}
		tenth, more := log.notes[18], fmt.Sprintf("and %s, which", count(n-10, "more error"))
		if tenth.Level != LevelError || !strings.HasPrefix(tenth.Text, "error 10") || strings.Contains(tenth.Text, more) != (n > 10) {
			t.Errorf("%d errors: the tenth is %+v, want it to say %q: %t", n, tenth, more, n > 10)
		}
	}
}

// TestTenthErrorComesWithTheEndOfTheRun states that the tenth error does not wait
// for what follows the run, and that no later one takes its place.
func TestTenthErrorComesWithTheEndOfTheRun(t *testing.T) {
	var log jobLog
	a := NewAnnotations(&log, AnnotationOptions{})
	for i := range 12 {
		report(t, a, state.Event{Agent: "main", State: "A.md", Body: &state.AgentFinished{Error: fmt.Sprintf("error %d", i+1)}})
	}
	report(t, a, state.Event{Body: &state.RunFinished{Status: state.Failed, Reason: "because"}})
	a.Annotate(Annotation{Level: LevelError, Text: "the last upload"})
	closed(t, a)
	var texts []string
	for _, n := range log.notes {
		if n.Level == LevelError {
			texts = append(texts, n.Text)
		}
	}
	if len(texts) != 11 || !strings.HasPrefix(texts[9], "error 10\nand 2 more errors") || texts[10] != "the last upload" {
		t.Errorf("12 errors, the end of the run, and another error: %q, want ten errors, the tenth with the number of the others, before the last", texts)
	}
}

// TestAnnotationsComeOnce states that annotations with the same level, file and text are
// shown once.
func TestAnnotationsComeOnce(t *testing.T) {
	retry := state.Event{Agent: "main", State: "A.md", Body: &state.Retry{N: 1, Error: "overloaded"}}
	again := state.Event{Agent: "main_work1", State: "A.md", Body: &state.Retry{N: 2, Error: "overloaded"}}
	failed := state.Event{Agent: "main", State: "A.md", Body: &state.AgentFinished{Error: "overloaded"}}
	if got := annotated(t, retry, again, retry, failed, failed); len(got) != 2 {
		t.Errorf("two retries and two failures with one text: %d annotations, want 2: %+v", len(got), got)
	}
}

// TestAnnotationTextIsCut states that no text is longer than GitHub shows, and
// that both its ends are kept.
func TestAnnotationTextIsCut(t *testing.T) {
	for _, filler := range []string{"x", "中", "\xff", "line\n", "🙂"} {
		for _, size := range []int{3980, 4001, 1 << 20} {
			text := "begin" + strings.Repeat(filler, size/len(filler)) + "end"
			var log jobLog
			a := NewAnnotations(&log, AnnotationOptions{})
			for i := range 12 {
				a.Annotate(Annotation{Level: LevelError, Title: text, Text: fmt.Sprint("begin", i, text)})
			}
			report(t, a, state.Event{Body: &state.RunFinished{Status: state.Failed, Reason: text}})
			must(t, a.Next(text))
			closed(t, a)
			for _, n := range log.notes {
				if utf8.RuneCountInString(n.Text) > 4000 || columns(n.Title) > 200 || !strings.HasPrefix(n.Text, "begin") ||
					!(strings.HasSuffix(n.Text, "end") || strings.Contains(n.Text, "end\nand 2 more errors")) {
					t.Errorf("annotation of %d bytes of %q: %d characters, %.50q", size, filler, utf8.RuneCountInString(n.Text), n.Text)
				}
			}
		}
	}
}

// TestAnnotationLine lists texts that name a line of a state's file.
func TestAnnotationLine(t *testing.T) {
	for text, want := range map[string]int{
		"CHECK.sh:12: jq: not found":                    12,
		"exit code 1: /a/b/CHECK.sh: line 7: unset":     7,
		"first CHECK.sh:3, then CHECK.sh:9":             3,
		"'CHECK.sh':3":                                  0,
		"OTHER-CHECK.sh:3":                              0,
		"CHECK.sh.orig:3":                               0,
		"CHECK.sh":                                      0,
		"CHECK.sh:0":                                    0,
		"CHECK.sh:99999999":                             0,
		"CHECKxsh:4":                                    0,
		"make: CHECK.sh:10:3: here":                     10,
		"state CHECK.sh: line no longer what it was: 5": 0,
	} {
		if got := lineIn(text, "CHECK.sh"); got != want {
			t.Errorf("line of CHECK.sh in %q: %d, want %d", text, got, want)
		}
	}
}

// TestEndAnnotation states which level the annotation on the end of a run has.
func TestEndAnnotation(t *testing.T) {
	result := state.Text("all good")
	failure := state.Event{Agent: "main", State: "A.md", Body: &state.AgentFinished{Error: "broken"}}
	for status, want := range map[state.Status]string{
		state.Completed: LevelNotice, state.Suspended: LevelNotice, state.Cancelled: LevelWarning,
		state.OverBudget: LevelError, state.OverIterations: LevelError, state.Failed: LevelError,
	} {
		got := annotated(t, state.Event{Body: &state.RunFinished{Status: status, Reason: "because", Result: &result}})
		text := "because"
		if status == state.Completed {
			text = "all good"
		}
		if len(got) != 1 || got[0].Level != want || got[0].Text != text {
			t.Errorf("end of a run that is %s: %+v, want one of level %s with %q", status, got, want, text)
		}
	}
	got := annotated(t, failure, state.Event{Body: &state.RunFinished{Status: state.Failed, Reason: "because"}})
	if len(got) != 2 || got[1].Level != LevelNotice {
		t.Errorf("end of a run whose failure was told: %+v, want a notice after the error", got)
	}
}

// TestWarnings lists events that make a warning, and events that make none.
func TestWarnings(t *testing.T) {
	about := func(b state.Body) state.Event { return state.Event{Agent: "main", State: "A.md", Body: b} }
	run := func(b state.Body) state.Event { return state.Event{Body: b} }
	reminders := []state.Event{about(&state.Reminder{N: 1, Reason: "no tag"}), about(&state.Reminder{N: 2, Reason: "two tags"})}
	for name, c := range map[string]struct {
		events []state.Event
		want   []string // titles
	}{
		"a reminder that helped":    {append(reminders[:1:1], about(&state.StateFinished{OK: true})), nil},
		"a failure of another kind": {append(reminders[:2:2], about(&state.StateFinished{Error: "exit code 1"})), nil},
		"reminders used up": {
			append(reminders[:2:2], about(&state.StateFinished{Error: "two tags (after 2 reminders)"})),
			[]string{"main in A.md used up its reminders"},
		},
		"an attempt without a tag": {
			append(reminders[:2:2], about(&state.NodeAttempt{Reason: "no_transition_tag"})),
			[]string{"main in A.md used up its reminders"},
		},
		"an attempt that is not done": {append(reminders[:2:2], about(&state.NodeAttempt{Reason: "done_when_failed"})), nil},
		"a retry":                     {[]state.Event{about(&state.Retry{Error: "overloaded"})}, []string{"main in A.md was tried again"}},
		"refused tools": {
			[]state.Event{about(&state.StateFinished{OK: true, Denied: []string{"Bash(ls)"}})},
			[]string{"main in A.md was refused the use of tools"},
		},
		"80 % of the budget":   {[]state.Event{run(&state.Limit{Which: "budget", Value: 8.1, Max: 10})}, []string{"81 % of the budget is spent"}},
		"costs unknown":        {[]state.Event{run(&state.Limit{Which: "budget", Value: 0.01, Max: 10})}, nil},
		"just 80 %":            {[]state.Event{run(&state.Limit{Which: "budget", Value: 8, Max: 10})}, []string{"80 % of the budget is spent"}},
		"more than the budget": {[]state.Event{run(&state.Limit{Which: "budget", Value: 10.1, Max: 10})}, nil},
		"the deadline":         {[]state.Event{run(&state.Limit{Which: "deadline", Value: 8, Max: 10})}, nil},
		"a checkpoint":         {[]state.Event{run(&state.Checkpoint{Store: "artifact"})}, nil},
		"a failed checkpoint":  {[]state.Event{run(&state.Checkpoint{Store: "artifact", Error: "503"})}, []string{"a checkpoint could not be stored in artifact"}},
		"a state that gave up": {
			[]state.Event{about(&state.StateFinished{Error: "max"}), about(&state.Transition{Tag: "reset", Target: "B.md"})},
			[]string{"main in A.md was not done; on to B.md"},
		},
	} {
		var titles []string
		for _, n := range annotated(t, c.events...) {
			titles = append(titles, n.Title)
			if n.Level != LevelWarning || n.Text == "" {
				t.Errorf("%s: %+v, want a warning with a text", name, n)
			}
		}
		if diff := cmp.Diff(c.want, titles); diff != "" {
			t.Errorf("%s: titles of the warnings (-want +got):\n%s", name, diff)
		}
	}
}

// TestAFailureIsNoWarning states that there is no warning about an agent that failed
// and was then resumed.
func TestAFailureIsNoWarning(t *testing.T) {
	about := func(b state.Body) state.Event { return state.Event{Agent: "main", State: "A.md", Body: b} }
	got := annotated(t,
		about(&state.StateFinished{Error: "broken"}), about(&state.AgentFinished{Error: "broken"}),
		about(&state.StateStarted{}), about(&state.StateFinished{OK: true}), about(&state.Transition{Tag: "goto", Target: "B.md"}))
	if len(got) != 1 || got[0].Level != LevelError || got[0].Title != "main in A.md failed" {
		t.Errorf("a failure and a second try: %+v, want one error", got)
	}
}

// TestRefusalsAreExplained: a refused use is shown with the CLI's own reason and the rule
// that would allow it, and with a warning if that rule allows everything. Logs of earlier
// versions have the use alone.
func TestRefusalsAreExplained(t *testing.T) {
	got := deniedText(refusals(&state.StateFinished{
		Denied: []string{"Bash(make)", "Bash(bash -c x)", "Bash(make)", "Bash(cd /)", "Read(/old)"},
		Refusals: []state.Refusal{
			{Use: "Bash(make)", Reason: "This command requires approval", Allow: []string{"Bash(make)", "Bash(x)"}},
			{Use: "Bash(bash -c x)", Allow: []string{"Bash(bash -c:*)"}, AllowsAll: true},
			{Use: "Bash(cd /)", Reason: "cd in '/' was blocked."},
		},
	}))
	want := "Bash(make): This command requires approval; to allow it: allowed-tools: Bash(make), Bash(x)\n" +
		"Bash(bash -c x); to allow it, and with it everything that it can be told to do: allowed-tools: Bash(bash -c:*)\n" +
		"Bash(cd /): cd in '/' was blocked\nRead(/old)\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
