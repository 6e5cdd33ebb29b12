package state

import (
	"strings"
	"testing"
)

func TestTraceparentsAreReadAsTheyAreWritten(t *testing.T) {
	const id, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for text, want := range map[string]SpanRef{
		"00-" + id + "-" + span + "-01": {id, span, true}, " 00-" + id + "-" + span + "-00\n": {id, span, false},
		"00-" + id + "-" + span + "-ff": {id, span, true}, "cc-" + id + "-" + span + "-03-what": {id, span, true},
		"00-" + id + "-" + span + "-01-more": {}, "ff-" + id + "-" + span + "-01": {}, "00-" + id + "-0000000000000000-01": {},
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01": {}, "00-" + strings.ToUpper(id) + "-" + span + "-01": {}, "00-" + id + "-" + span: {}, "": {},
	} {
		if got, ok := ParseTraceparent(text); got != want || ok != (want != SpanRef{}) {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, ok, want)
		}
	}
}

// TestSpansOfARunDiffer: jobs find the same ids for the same things, and no two things have
// the same one. A run that somebody's trace starts is part of that.
func TestSpansOfARunDiffer(t *testing.T) {
	a, b := NewTrace("a", SpanRef{}), NewTrace("b", SpanRef{})
	if a != NewTrace("a", SpanRef{}) {
		t.Error("another trace of the same run")
	}
	parent, _ := ParseTraceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")
	child := NewTrace("a", parent)
	if want := (Trace{ID: parent.Trace, Parent: parent.Span, Dropped: true}); child != want {
		t.Errorf("got %+v, want %+v", child, want)
	}
	seen := map[string]bool{}
	for _, of := range []Trace{a, b, child} {
		for _, ref := range []SpanRef{
			of.OfRun(), of.OfPart("1"), of.OfPart("2"), of.OfExec("main", 1), of.OfExec("main", 11), of.OfExec("main_a1", 1),
			of.OfAttempt("main", 1, 1), of.OfAttempt("main", 1, 2), of.OfAttempt("main", 11, 2), of.OfAttempt("main_a1", 1, 1),
		} {
			if seen[ref.Span] || ref.Trace != of.ID || ref.Sampled == of.Dropped {
				t.Errorf("%+v comes twice, or is of another trace", ref)
			}
			seen[ref.Span] = true
			if back, ok := ParseTraceparent(ref.String()); !ok || back != ref {
				t.Errorf("%+v is read back as %+v", ref, back)
			}
		}
	}
}
