package state

import (
	"strings"
	"testing"
	"time"
)

func TestTraceparentsAreReadAsTheyAreWritten(t *testing.T) {
	const id, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for text, want := range map[string]string{
		"00-" + id + "-" + span + "-01":                      "00-" + id + "-" + span + "-01",
		" 00-" + id + "-" + span + "-00\n":                   "00-" + id + "-" + span + "-00",
		"00-" + id + "-" + span + "-ff":                      "00-" + id + "-" + span + "-01",
		"cc-" + id + "-" + span + "-03-what":                 "00-" + id + "-" + span + "-01",
		"00-" + id + "-" + span + "-01-more":                 "",
		"ff-" + id + "-" + span + "-01":                      "",
		"00-" + id + "-0000000000000000-01":                  "",
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01": "",
		"00-" + strings.ToUpper(id) + "-" + span + "-01":     "",
		"00-" + id + "-" + span:                              "", "": "", "x": "",
	} {
		ref, ok := ParseTraceparent(text)
		got := ""
		if ok {
			got = ref.String()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestSpansOfARunDiffer: jobs find the same ids for the same things, and no two things have
// the same one.
func TestSpansOfARunDiffer(t *testing.T) {
	a, again, b := NewTrace("a", SpanRef{}), NewTrace("a", SpanRef{}), NewTrace("b", SpanRef{})
	if a != again || a.ID == b.ID {
		t.Errorf("traces of a, a and b: %v, %v, %v", a, again, b)
	}
	seen := map[string]bool{}
	for _, of := range []Trace{a, b} {
		for _, ref := range []SpanRef{
			of.OfRun(), of.OfPart("1"), of.OfPart("2"), of.OfExec("main", 1), of.OfExec("main", 11), of.OfExec("main_a1", 1),
			of.OfAttempt("main", 1, 1), of.OfAttempt("main", 1, 2), of.OfAttempt("main", 11, 2), of.OfAttempt("main_a1", 1, 1),
		} {
			if seen[ref.Span] || ref.Trace != of.ID || !ref.Sampled {
				t.Errorf("%+v comes twice, or is of another trace", ref)
			}
			seen[ref.Span] = true
			if back, ok := ParseTraceparent(ref.String()); !ok || back != ref {
				t.Errorf("%+v is read back as %+v", ref, back)
			}
		}
	}
}

func TestTraceOfWhoeverStartsTheRun(t *testing.T) {
	parent, _ := ParseTraceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")
	got := NewTrace("a", parent)
	if want := (Trace{ID: parent.Trace, Parent: parent.Span, Dropped: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if ref := got.OfExec("main", 1); ref.Sampled || ref.Trace != parent.Trace {
		t.Errorf("a span of a trace that nobody records: %+v", ref)
	}
}

func TestTraceOfAStateFileIsChecked(t *testing.T) {
	good := Trace{ID: "0af7651916cd43dd8448eb211c80319c", Parent: "b7ad6b7169203331", Parts: 1}
	for field, spoil := range map[string]func(*Trace){
		"":             func(*Trace) {},
		"trace.id":     func(x *Trace) { x.ID = strings.Repeat("0", 32) },
		"trace.parent": func(x *Trace) { x.Parent = "../../etc/passwd" },
		"trace.parts":  func(x *Trace) { x.Parts = 0 },
	} {
		run := New(Run{WorkflowID: "a", Mark: strings.Repeat("a", 32), Scope: "/w", Entry: "A.md", Dir: "/w", Files: map[string]string{"A.md": strings.Repeat("0", 64)}}, "", time.Now())
		trace := good
		spoil(&trace)
		run.Trace = &trace
		c := &checker{}
		run.Trace.check(c)
		got := ""
		if c.err != nil {
			got = c.err.Field
		}
		if got != field {
			t.Errorf("%+v: got a problem of %q, want one of %q", trace, got, field)
		}
	}
}
