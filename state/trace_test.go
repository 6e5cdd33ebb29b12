package state

import (
	"strings"
	"testing"
)

// TestTraceparentsAreReadAsTheyAreWritten checks which values ParseTraceparent accepts, and the spans
// that it returns.
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
