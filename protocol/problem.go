package protocol

import (
	"fmt"
	"strconv"
	"strings"
)

// String returns the problem in the form "file:line:col: message; hint". Empty fields are left
// out.
func (p Problem) String() string {
	text := p.Message
	if place := strings.TrimPrefix(strings.TrimSuffix(p.File+":"+p.Pos.String(), ":"), ":"); place != "" {
		text = place + ": " + text
	}
	if p.Hint != "" {
		text += "; " + p.Hint
	}
	return text
}

// String returns the position in the form "line:col", or only the line if the column is not known.
// It returns "" for the zero Pos.
func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return ""
	case p.Col == 0:
		return strconv.Itoa(p.Line)
	}
	return fmt.Sprintf("%d:%d", p.Line, p.Col)
}

// maxQuoted is the largest number of bytes that Quote copies from a text into a message.
const maxQuoted = 80

// Quote returns s in quotes and with escapes. It shortens a long s and appends an ellipsis.
func Quote(s string) string {
	if len(s) <= maxQuoted {
		return strconv.Quote(s)
	}
	return strconv.Quote(strings.ToValidUTF8(s[:maxQuoted], "")) + "…"
}

// QuoteAll quotes and joins the first ten names, and says how many more there are.
func QuoteAll(names []string) string {
	const most = 10
	quoted := make([]string, 0, most)
	for _, n := range names[:min(most, len(names))] {
		quoted = append(quoted, Quote(n))
	}
	list := strings.Join(quoted, ", ")
	if left := len(names) - most; left > 0 {
		list += fmt.Sprintf(" and %d more", left)
	}
	return list
}

// Nearest returns the name that the author of s probably meant, or "" if no name is similar. It
// skips names that are equal to s.
func Nearest(s string, names []string) string {
	const longest = 64
	if len(s) > longest {
		return ""
	}
	best, found := 1+min(3, max(1, len(s)/2)), ""
	for _, n := range names {
		if n == s || len(n) > longest {
			continue
		}
		if d := distance(strings.ToLower(s), strings.ToLower(n)); d < best {
			best, found = d, n
		}
	}
	return found
}

// DidYouMean returns a hint with the name that the author of s probably meant, or "" if no name is
// similar.
func DidYouMean(s string, names []string) string {
	if n := Nearest(s, names); n != "" {
		return "did you mean " + Quote(n)
	}
	return ""
}

// distance returns the edit distance of a and b: how many bytes of a must be inserted, deleted,
// replaced or swapped with the next byte to get b.
func distance(a, b string) int {
	d := make([][]int, len(a)+1) // d[i][j] is the distance of a[:i] and b[:j]
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := d[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			d[i][j] = min(replaced, d[i-1][j]+1, d[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
