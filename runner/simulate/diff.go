package simulate

import (
	"fmt"
	"slices"
)

// lineDiff compares two lists of lines. It returns nil if they are equal. Otherwise, it leaves out
// the lines that are equal at the beginning and at the end. The remaining lines of want get the
// prefix "- ", and the remaining lines of got get "+ ". If any lines were left out, a line before
// them contains their number.
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

// addPrefix returns the lines with a prefix.
func addPrefix(prefix string, list []string) []string {
	var lines []string
	for _, line := range list {
		lines = append(lines, prefix+line)
	}
	return lines
}
