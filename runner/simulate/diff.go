package simulate

import (
	"fmt"
	"slices"
)

// lineDiff compares two lists. It returns the lines between their common beginning and their common
// end, nil if the lists are equal.
func lineDiff(want, got []string) []string {
	if slices.Equal(want, got) {
		return nil
	}
	head, tail := 0, 0
	for head < min(len(want), len(got)) && want[head] == got[head] {
		head++
	}
	for tail < min(len(want), len(got))-head && want[len(want)-1-tail] == got[len(got)-1-tail] {
		tail++
	}
	out := slices.Concat(addPrefix("- ", want[head:len(want)-tail]), addPrefix("+ ", got[head:len(got)-tail]))
	if head+tail > 0 {
		return append([]string{fmt.Sprintf("  (the same: %d before, %d after)", head, tail)}, out...)
	}
	return out
}

func addPrefix(prefix string, list []string) []string {
	var lines []string
	for _, line := range list {
		lines = append(lines, prefix+line)
	}
	return lines
}
