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
// that were expected begin with "-", those that came with "+". Without a
// difference, and when nothing was expected, there are none.
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
	status := want.Status
	if status == "" && want.Outcome == "" {
		status = string(state.Completed)
	}
	if status != "" {
		field("status", status, string(j.end.Status))
	}
	if want.Outcome != "" {
		field("outcome", want.Outcome, j.end.Outcome)
	}
	if want.Result != nil {
		out = append(out, resultDiff(string(*want.Result), j.end.Result)...)
	}
	if want.Cost != nil {
		field("cost", state.USD(*want.Cost).String(), j.end.CostUSD.String())
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

// resultDiff compares results: quoted, those of several lines line by line.
func resultDiff(want string, got *state.Text) []string {
	switch {
	case got == nil:
		return []string{"result", fmt.Sprintf("- %q", want), "+ no result"}
	case want == string(*got):
		return nil
	case !strings.Contains(want, "\n") || !strings.Contains(string(*got), "\n"):
		return []string{"result", fmt.Sprintf("- %q", want), fmt.Sprintf("+ %q", string(*got))}
	}
	return append([]string{"result, line by line"}, lineDiff(quotedLines(want), quotedLines(string(*got)))...)
}

func quotedLines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, fmt.Sprintf("%q", line))
	}
	return lines
}
