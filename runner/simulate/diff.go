package simulate

import (
	"fmt"
	"slices"
)

// around is how many lines that are the same are shown around each difference.
const around = 3

// lineDiff compares two lists by what they begin and end with; nil when they are the same.
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
	return shortened(slices.Concat(prefixed("  ", want[:head]), prefixed("- ", want[head:len(want)-tail]),
		prefixed("+ ", got[head:len(got)-tail]), prefixed("  ", want[len(want)-tail:])))
}

func prefixed(prefix string, list []string) []string {
	var lines []string
	for _, line := range list {
		lines = append(lines, prefix+line)
	}
	return lines
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
