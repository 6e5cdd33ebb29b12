package state

import (
	"regexp"
	"strings"
	"testing"
)

// What is allowed in names, as patterns: the checks without patterns allow the same.
func FuzzIDs(f *testing.F) {
	checks := []struct {
		want *regexp.Regexp
		got  func(string) bool
	}{
		{regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`), ValidID},
		{regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`), ValidSession},
		{regexp.MustCompile(`^[0-9a-f]{64}$`), isSHA256},
	}
	for _, n := range []int{1, 2, 63, 64, 65, 127, 128, 129} {
		for _, c := range []string{"a", "g", "z", "A", "Z", "0", "9", "-", "_", ".", " ", "/", "\n", "\x00", "ä", "\xff", "@", "[", "`", "{"} {
			f.Add(strings.Repeat(c, n))
			f.Add(c + strings.Repeat("0", n-1))
			f.Add(strings.Repeat("a", n-1) + c)
			f.Add(strings.Repeat("a", n/2) + c + strings.Repeat("a", (n-1)/2))
		}
	}
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range checks {
			if got, want := c.got(s), c.want.MatchString(s); got != want {
				t.Errorf("%q is allowed: %v, want %v as of %v", s, got, want, c.want)
			}
		}
	})
}
