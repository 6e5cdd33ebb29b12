package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// Journal is what happened in a run, collected from its events. It implements
// the Reporter of package report.
type Journal struct {
	paths map[string][]string
	end   *state.RunFinished
}

// Report implements report.Reporter.
func (j *Journal) Report(e state.Event) error {
	switch b := e.Body.(type) {
	case *state.StateStarted:
		if j.paths == nil {
			j.paths = map[string][]string{}
		}
		j.paths[e.Agent] = append(j.paths[e.Agent], e.State)
	case *state.RunFinished:
		j.end = b
	}
	return nil
}

// Close implements report.Reporter.
func (j *Journal) Close() error { return nil }

// Diff returns the lines by which the run differs from what was expected: those
// that were expected begin with "-", those that came with "+".
func (j *Journal) Diff(want *Expect) []string {
	if want == nil || j.end == nil {
		return nil
	}
	var out []string
	field := func(name, want, got string) {
		if want != got {
			out = append(out, name, "- "+want, "+ "+got)
		}
	}
	if want.Status != "" {
		field("status", want.Status, string(j.end.Status))
	}
	if want.Outcome != "" {
		field("outcome", want.Outcome, j.end.Outcome)
	}
	if want.Result != nil {
		field("result", fmt.Sprintf("%q", *want.Result), result(j.end))
	}
	if want.Cost != nil {
		field("cost", want.Cost.String(), j.end.CostUSD.String())
	}
	for _, agent := range slices.Sorted(maps.Keys(want.Path)) {
		if diff := lineDiff(want.Path[agent], j.paths[agent]); diff != nil {
			out = append(append(out, "path of "+agent), diff...)
		}
	}
	if out != nil && j.end.Reason != "" {
		out = append(out, "the run ended: "+j.end.Reason)
	}
	return out
}

func result(end *state.RunFinished) string {
	if end.Result == nil {
		return "no result"
	}
	return fmt.Sprintf("%q", string(*end.Result))
}

// lineDiff compares two lists by their longest common part; nil when they are
// the same.
func lineDiff(want, got []string) []string {
	if slices.Equal(want, got) {
		return nil
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

// Text joins the lines of a diff for people.
func Text(diff []string) string { return strings.Join(diff, "\n") + "\n" }
