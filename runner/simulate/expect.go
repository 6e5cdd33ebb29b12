package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// Diff returns the differences between a run and the expectations, or nil if the run is as
// expected. Lines that start with "-" were expected, and lines that start with "+" describe what
// happened.
func (want *Expect) Diff(run *report.Model) []string {
	if want == nil || run.Ending == nil {
		return nil
	}
	end, paths := run.Ending, map[string][]string{}
	for _, x := range run.Executions {
		paths[x.Agent] = append(paths[x.Agent], x.State)
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
		field("status", status, string(end.Status))
	}
	if want.Outcome != "" {
		field("outcome", want.Outcome, end.Outcome)
	}
	if want.Result != nil {
		out = append(out, resultDiff(string(*want.Result), end.Result)...)
	}
	if want.Cost != nil {
		field("cost", state.USD(*want.Cost).String(), end.USD.String())
	}
	for _, agent := range slices.Sorted(maps.Keys(want.Path)) {
		if diff := lineDiff(want.Path[agent], paths[agent]); diff != nil {
			out = append(append(out, "path of "+agent), diff...)
		}
	}
	if out != nil && end.Reason != "" {
		out = append(out, "the run ended: "+end.Reason)
	}
	return out
}

// resultDiff compares the expected and the actual result. If both have several lines, it compares
// them line by line.
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

// quotedLines splits a text into lines and quotes each line.
func quotedLines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, fmt.Sprintf("%q", line))
	}
	return lines
}

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
