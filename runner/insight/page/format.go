package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/state"
)

// shown removes invisible characters from a text. The template escapes the text later, and package
// insight has limited its length.
func shown(s string) string { return text.Printable(s) }

// count formats a number, usually of tokens, with at most four characters.
func count(n int64) string {
	switch f := float64(n); {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 10_000:
		return strconv.FormatFloat(f/1e3, 'f', 1, 64) + "k"
	case n < 999_500:
		return strconv.FormatFloat(f/1e3, 'f', 0, 64) + "k"
	case n < 9_950_000:
		return strconv.FormatFloat(f/1e6, 'f', 1, 64) + "M"
	}
	return strconv.FormatFloat(float64(n)/1e6, 'f', 0, 64) + "M"
}

// bytesOf formats a number of bytes as bytes, KiB or MiB.
func bytesOf(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.0f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// moment formats a date and a time of day in UTC.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// clock formats a time of day in UTC.
func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

// lines returns the number of lines in a text. A line break at the end doesn't start another line.
func lines(s string) int {
	if s == "" {
		return 0
	}
	return strings.Count(strings.TrimSuffix(s, "\n"), "\n") + 1
}

// percent returns part as a percentage of whole, from 0 to 100.
func percent(part, whole state.USD) int {
	if whole <= 0 || part <= 0 {
		return 0
	}
	return int(min(100, (100*float64(part))/float64(whole)+0.5))
}

// shortText returns the beginning of a text as one line of at most 160 characters.
func shortText(s string) string { return text.Brief(text.Prefix(s, 4<<10), 160) }

// sortedKeys returns the keys of a map in sorted order.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// classOf converts a word to a valid name of a CSS class.
func classOf(word string) string {
	clean := func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r
		}
		return '-'
	}
	return strings.Map(clean, strings.ToLower(text.Prefix(word, 20)))
}
