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
	head, tail := 0, 0
	for head < min(len(want), len(got)) && want[head] == got[head] {
		head++
	}
	for tail < min(len(want), len(got))-head && want[len(want)-1-tail] == got[len(got)-1-tail] {
		tail++
	}
	between := merged(want[head:len(want)-tail], got[head:len(got)-tail])
	return shortened(slices.Concat(marked("  ", want[:head]), between, marked("  ", want[len(want)-tail:])))
}

func marked(mark string, lines []string) []string {
	out := make([]string, 0, len(lines))
	for _, l := range lines {
		out = append(out, mark+l)
	}
	return out
}

// merged puts two lists into one, so that as many lines as possible are the same.
// That is too much work for long ones.
func merged(want, got []string) []string {
	if len(want)*len(got) > maxCells {
		return slices.Concat(marked("- ", want), marked("+ ", got))
	}
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
