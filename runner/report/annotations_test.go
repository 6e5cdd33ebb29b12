package report

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
)

func workflowFile(name string) string { return ".github/raymond/" + name }

// TestAnnotationsGolden compares the annotations for recorded runs with golden files.
func TestAnnotationsGolden(t *testing.T) {
	for _, name := range recordedRuns {
		t.Run(name, func(t *testing.T) {
			var log jobLog
			f := newFanout(t)
			f.Add("annotations", NewAnnotations(&log, f.Model, workflowFile))
			replayFile(t, name, f, 0, "start the workflow again")
			f.Close()
			goldenFile(t, name+".annotations.txt", log.String())
		})
	}
}

// annotated returns the annotations that the given events cause.
func annotated(t *testing.T, events ...state.Event) []Annotation {
	t.Helper()
	var log jobLog
	f := newFanout(t)
	f.Add("annotations", NewAnnotations(&log, f.Model, workflowFile))
	for _, e := range events {
		f.Report(e)
	}
	f.Close()
	return log.notes
}

// TestTenAnnotationsOfALevel checks that at most ten annotations of each level are shown. The first
// nine are shown immediately. The tenth is shown by Close, and contains the number of the others.
func TestTenAnnotationsOfALevel(t *testing.T) {
	for _, n := range []int{0, 1, 9, 10, 11, 40} {
		var log jobLog
		f := newFanout(t)
		f.Add("annotations", NewAnnotations(&log, f.Model, workflowFile))
		for i := range n {
			f.Report(state.Event{Agent: "main", State: "A.md", Body: &state.AgentFinished{Error: fmt.Sprintf("error %d", i+1)}})
			f.Report(state.Event{Agent: "main", State: "A.md", Body: &state.Retry{Error: fmt.Sprintf("error %d", i+1)}})
		}
		assert.Check(t, is.Equal(len(log.notes), 2*min(n, 9)), "%d errors and warnings: annotations at once", n)
		f.Close()
		assert.Check(t, is.Equal(len(log.notes), 2*min(n, 10)), "%d errors and warnings: annotations", n)
		if n < 10 {
			continue
		}
		tenth, more := log.notes[18], fmt.Sprintf("and %s, which", state.Count(n-10, "more error"))
		assert.Check(t, tenth.Level == LevelError && strings.HasPrefix(tenth.Text, "error 10") && strings.Contains(tenth.Text, more) == (n > 10), "%d errors: the tenth is %+v, want it to say %q: %t", n, tenth, more, n > 10)
	}
}

// TestAnnotationsComeOnce checks that an annotation is not repeated if its level, file and text are
// the same.
func TestAnnotationsComeOnce(t *testing.T) {
	retry := state.Event{Agent: "main", State: "A.md", Body: &state.Retry{N: 1, Error: "overloaded"}}
	again := state.Event{Agent: "main_work1", State: "A.md", Body: &state.Retry{N: 2, Error: "overloaded"}}
	failed := state.Event{Agent: "main", State: "A.md", Body: &state.AgentFinished{Error: "overloaded"}}
	got := annotated(t, retry, again, retry, failed, failed)
	assert.Check(t, is.Len(got, 2), "two retries and two failures with one text: %d annotations", len(got))
}

// TestAnnotationTextIsCut checks that no text is longer than GitHub allows, and that a shortened
// text keeps its beginning and its end.
func TestAnnotationTextIsCut(t *testing.T) {
	for _, filler := range []string{"x", "中", "\xff", "line\n", "🙂"} {
		for _, size := range []int{3980, 4001, 100_000} {
			text := "begin" + strings.Repeat(filler, size/len(filler)) + "end"
			var log jobLog
			f := newFanout(t)
			a := NewAnnotations(&log, f.Model, workflowFile)
			f.Add("annotations", a)
			for i := range 12 {
				a.Annotate(Annotation{Level: LevelError, Title: text, Text: fmt.Sprint("begin", i, text)})
			}
			reportAdvised(f, state.Event{Body: &state.RunFinished{Status: state.Failed, Reason: text}}, text)
			f.Close()
			for _, n := range log.notes {
				if utf8.RuneCountInString(n.Text) > 4000 || columns(n.Title) > 200 || !strings.HasPrefix(n.Text, "begin") ||
					!(strings.HasSuffix(n.Text, "end") || strings.Contains(n.Text, "end\nand 2 more errors")) {
					t.Errorf("annotation of %d bytes of %q: %d characters, %.50q", size, filler, utf8.RuneCountInString(n.Text), n.Text)
				}
			}
		}
	}
}

// TestAnnotationLine checks which line number is found in a text that may name a state's file.
func TestAnnotationLine(t *testing.T) {
	for text, want := range map[string]int{
		"CHECK.sh:12: jq: not found":                    12,
		"exit code 1: /a/b/CHECK.sh: line 7: unset":     7,
		"OTHER-CHECK.sh:3":                              0,
		"CHECK.sh:0":                                    0,
		"CHECKxsh:4":                                    0,
		"make: CHECK.sh:10:3: here":                     10,
		"state CHECK.sh: line no longer what it was: 5": 0,
	} {
		assert.Check(t, is.Equal(lineNumberIn(text, "CHECK.sh"), want), "line of CHECK.sh in %q", text)
	}
}

// TestBudgetWarningFrom80Percent checks that the warning about the budget is shown from 80 % on.
// The golden files check other warnings.
func TestBudgetWarningFrom80Percent(t *testing.T) {
	for value, want := range map[float64]int{7.9: 0, 8: 1} {
		got := annotated(t, state.Event{Body: &state.Limit{Which: "budget", Value: value, Max: 10}})
		assert.Check(t, is.Len(got, want), "%g of 10", value)
	}
}
