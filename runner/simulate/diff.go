package simulate

import (
	"fmt"
	"slices"
)

// around is how many lines that are the same are shown around each difference.
const around = 3

// maxCells bounds how much work is put into a comparison.
const maxCells = 1 << 22

// lineDiff compares two lists by their longest common part, of very long ones by what they begin
// and end with; nil when they are the same.
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
	lines := prefixed("  ", want[:head])
	lines = append(lines, between(want[head:len(want)-tail], got[head:len(got)-tail])...)
	return shortened(append(lines, prefixed("  ", want[len(want)-tail:])...))
}

func prefixed(prefix string, list []string) []string {
	var lines []string
	for _, line := range list {
		lines = append(lines, prefix+line)
	}
	return lines
}

// between compares two lists that begin and end differently.
func between(want, got []string) []string {
	if len(want)*len(got) > maxCells {
		return append(prefixed("- ", want), prefixed("+ ", got)...)
	}
	length := common(want, got)
	var lines []string
	i, j := 0, 0
	for i < len(want) || j < len(got) {
		switch {
		case i < len(want) && j < len(got) && want[i] == got[j]:
			lines = append(lines, "  "+want[i])
			i, j = i+1, j+1
		case j == len(got) || i < len(want) && length[i+1][j] >= length[i][j+1]:
			lines = append(lines, "- "+want[i])
			i++
		default:
			lines = append(lines, "+ "+got[j])
			j++
		}
	}
	return lines
}

// common returns the length of the longest common part of every two ends.
func common(a, b []string) [][]int {
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	return length
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
