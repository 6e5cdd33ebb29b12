package simulate

import (
	"fmt"
	"slices"
)

// Bounds of a diff: how much work is put into it, and how many lines that are
// the same are shown around each difference.
const (
	maxCells = 1 << 22
	around   = 3
)

// lineDiff compares two lists by their longest common part; nil when they are
// the same.
func lineDiff(want, got []string) []string {
	if slices.Equal(want, got) {
		return nil
	}
	head := 0
	for head < min(len(want), len(got)) && want[head] == got[head] {
		head++
	}
	out := marked("  ", want[:head])
	want, got = want[head:], got[head:]
	if len(want)*len(got) > maxCells {
		return shortened(slices.Concat(out, marked("- ", want), marked("+ ", got)))
	}
	return shortened(append(out, merged(want, got)...))
}

func marked(mark string, lines []string) []string {
	out := make([]string, 0, len(lines))
	for _, l := range lines {
		out = append(out, mark+l)
	}
	return out
}

func merged(want, got []string) []string {
	length := common(want, got)
	var out []string
	i, j := 0, 0
	for i < len(want) || j < len(got) {
		switch {
		case i < len(want) && j < len(got) && want[i] == got[j]:
			out = append(out, "  "+want[i])
			i, j = i+1, j+1
		case j == len(got) || (i < len(want) && length[i+1][j] >= length[i][j+1]):
			out = append(out, "- "+want[i])
			i++
		default:
			out = append(out, "+ "+got[j])
			j++
		}
	}
	return out
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
