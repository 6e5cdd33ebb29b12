package simulate

import (
	"fmt"
	"slices"

	"github.com/raymond-action/raymond-action/internal/align"
)

// around is how many lines that are the same are shown around each difference.
const around = 3

// lineDiff compares two lists by their longest common part; nil when they are
// the same.
func lineDiff(want, got []string) []string {
	if slices.Equal(want, got) {
		return nil
	}
	var lines []string
	for _, row := range align.Rows(want, got) {
		switch i, j := row[0], row[1]; {
		case j == align.None:
			lines = append(lines, "- "+want[i])
		case i == align.None:
			lines = append(lines, "+ "+got[j])
		default:
			lines = append(lines, "  "+want[i])
		}
	}
	return shortened(lines)
}

// shortened leaves out what is the same far from any difference.
func shortened(lines []string) []string {
	near := make([]bool, len(lines))
	for i, l := range lines {
		for k := max(0, i-around); l[0] != ' ' && k < min(len(lines), i+around+1); k++ {
			near[k] = true
		}
	}
	var out []string
	for i := 0; i < len(lines); i++ {
		if near[i] {
			out = append(out, lines[i])
			continue
		}
		from := i
		for i+1 < len(lines) && !near[i+1] {
			i++
		}
		out = append(out, fmt.Sprintf("  (%d more that are the same)", i-from+1))
	}
	return out
}
