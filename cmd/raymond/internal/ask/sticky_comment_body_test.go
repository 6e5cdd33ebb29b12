package ask

import (
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestBodiesFit checks that no body is longer than a forge accepts and that each begins with its marker.
// It also checks that different identities have different markers.
func TestBodiesFit(t *testing.T) {
	for _, says := range []string{"", "short", strings.Repeat("long ", 20_000), "first\n" + strings.Repeat("é", 40_000), strings.Repeat("\xff", 70_000)} {
		got := StickyBody(marker, says, "last")
		if len(got) > 65_000 || !strings.HasPrefix(got, marker+"\n") || !strings.HasSuffix(got, "\n\nlast") || !utf8.ValidString(got) {
			t.Errorf("body of %d bytes: got %d bytes, %.100q", len(says), len(got), got)
		}
	}
	assert.Check(t, is.Equal(StickyBody("m", "\nsays\n\n", "last"), "m\nsays\n\nlast"), "body")
	seen := map[string]bool{}
	for _, identity := range [][]string{{"a", "b"}, {"ab", ""}, {"", "ab"}, {"ab"}, {"a", "b", ""}, {"1:a,", "b"}, {"-->", "b"}, {}} {
		m := StickyMarker(identity...)
		if seen[m] || strings.Count(m, "-->") != 1 || strings.ContainsAny(m, "\n") {
			t.Errorf("marker of %q: got %q, want a new one, an HTML comment on one line", identity, m)
		}
		seen[m] = true
	}
}
