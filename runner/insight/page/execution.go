package page

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// execution is the data of an execution's section in the page.
type execution struct {
	*report.Exec
	Class    string
	IsOpen   bool
	Lasted   time.Duration
	About    []pair
	Stages   []stage
	HasFiles bool
	Hunks    []file
}

// unfolded is how many of the failed executions, counted from the last one, are unfolded when the
// page opens.
const unfolded = 3

// executions returns an iterator over the sections of all executions.
func executions(r *insight.Report) iter.Seq[execution] {
	failed := 0
	for _, e := range r.Executions {
		if hasFailed(e) {
			failed++
		}
	}
	return func(yield func(execution) bool) {
		left := failed
		for i := range r.Executions {
			e := &r.Executions[i]
			x := execution{
				Exec: e, Class: classOf(e.Kind) + " " + classOf(e.Status), Lasted: duration(*e),
				About: aboutExecution(e), Stages: stagesOf(e), HasFiles: e.Files != nil,
			}
			for _, f := range e.Files {
				x.Hunks = append(x.Hunks, newFile(f))
			}
			if hasFailed(*x.Exec) {
				x.IsOpen = left <= unfolded
				left--
			}
			if !yield(x) {
				return
			}
		}
	}
}

// aboutExecution returns facts about an execution, such as its model, as pairs of names and values.
func aboutExecution(e *report.Exec) []pair {
	var out []pair
	add := func(name, value string) {
		if value != "" {
			out = append(out, pair{name, value})
		}
	}
	add("Started", moment(e.Started))
	add("Model", e.Model)
	add("Agent CLI", e.AgentCLI)
	add("Conversation", strings.TrimSpace(e.Mode+" "+e.SessionID))
	add("Folder", e.Cwd)
	if e.Turns > 0 {
		add("Turns", fmt.Sprint(e.Turns))
	}
	if t := e.Spent.Tokens; t != nil {
		add("Tokens", tokensText(t))
	}
	if len(e.Models) > 1 {
		var parts []string
		for _, name := range sortedKeys(e.Models) {
			parts = append(parts, shown(name)+" "+state.Spent{USD: e.Models[name], Estimated: e.Spent.Estimated}.String())
		}
		add("Cost by model", strings.Join(parts, ", "))
	}
	if e.ExitCode != nil && *e.ExitCode != 0 {
		add("Exit code", fmt.Sprint(*e.ExitCode))
	}
	add("Signal", e.Signal)
	return out
}

// file is a changed file. Its diff is split into chunks of consecutive lines of the same kind.
type file struct {
	Path, Change string
	Parts        []block // chunks of kind "add", "del", "at" or "same"
	Added, Gone  int
	Cut          bool
}

// newFile splits the diff of a changed file into chunks and counts added and deleted lines.
func newFile(f report.File) file {
	out := file{Path: f.Path, Change: classOf(f.Change), Cut: f.Cut}
	for line := range strings.Lines(f.Diff) {
		kind := "same"
		switch {
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "diff --git "), strings.HasPrefix(line, "index "):
			continue // a line of the diff's header
		case strings.HasPrefix(line, "@@"):
			kind = "at"
		case strings.HasPrefix(line, "+"):
			kind = "add"
			out.Added++
		case strings.HasPrefix(line, "-"):
			kind = "del"
			out.Gone++
		}
		if n := len(out.Parts); n > 0 && out.Parts[n-1].Kind == kind {
			out.Parts[n-1].Text += line
		} else {
			out.Parts = append(out.Parts, block{kind, line})
		}
	}
	return out
}
