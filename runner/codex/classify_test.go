package codex

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// TestUsageLimitReset checks which time is found in the CLI's message about a usage limit.
func TestUsageLimitReset(t *testing.T) {
	zone := time.FixedZone("here", 2*3600)
	now := time.Date(2026, 11, 22, 21, 0, 0, 0, zone)
	for words, want := range map[string]time.Time{
		"or try again at 9:40 PM.":                   time.Date(2026, 11, 22, 21, 41, 0, 0, zone),
		"or try again at 1:05 AM.":                   time.Date(2026, 11, 23, 1, 6, 0, 0, zone),
		"or try again at Nov 25th, 2026 12:00 AM.":   time.Date(2026, 11, 25, 0, 1, 0, 0, zone),
		"or try again at Dec 1st, 2026 12:25 PM.":    time.Date(2026, 12, 1, 12, 26, 0, 0, zone),
		"or try again later.":                        {},
		"or try again at Foo 99th, 2026 12:00 AM.":   {},
		"You've hit your limit. Visit https://x.y/z": {},
	} {
		got := resetOf(words, now)
		assert.Check(t, got.Equal(want), "%s: got %s, want %s", words, got, want)
	}
}
