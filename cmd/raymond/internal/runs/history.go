package runs

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/state"
)

// PrintHistory prints the state executions of a run.
func PrintHistory(out io.Writer, dir, id string, asJSON bool) error {
	_, list, err := ReadExecutions(dir, id)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(out, list)
	}
	return showHistory(out, list)
}

// ReadExecutions reads a run and its state executions, without its lock.
func ReadExecutions(dir, id string) (*state.Run, []Execution, error) {
	driver, err := state.DrivenBy(dir, id)
	if err != nil {
		return nil, nil, err
	}
	run, err := state.Read(dir, id)
	if err != nil {
		return nil, nil, err
	}
	list, err := Executions(dir, run, driver != nil)
	return run, list, err
}

// showHistory prints a line for each execution.
func showHistory(out io.Writer, list []Execution) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "EXEC\tAGENT\tSTATE\tSTATUS\tCOST\tSESSION\tTRANSITION\tFILES")
	for _, e := range list {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Exec, text.Escaped(e.Agent), text.Escaped(e.State), e.Status,
			e.spent, orDash(e.SessionID), orDash(e.next()), orDash(fileNames(e.Files)))
	}
	return w.Flush()
}

// orDash shows that there is nothing.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return text.Escaped(s)
}

// next says where the execution led, and why it failed if it did.
func (e *Execution) next() string {
	if e.Status == execFailed {
		return problem.Shorten(e.err)
	}
	return arrow(e.Transition)
}

// arrow shows a transition in a few words.
func arrow(t *state.Transition) string {
	if t == nil {
		return ""
	}
	words := t.Tag
	if t.Target != "" {
		words += " " + t.Target
	}
	for _, after := range []string{t.Return, t.Next} {
		if after != "" {
			words += ", then " + after
		}
	}
	return words
}

// mostNames is how many files are named in a line.
const mostNames = 3

// fileNames names the first of some files.
func fileNames(files []string) string {
	if len(files) <= mostNames {
		return strings.Join(files, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(files[:mostNames], ", "), len(files)-mostNames)
}
