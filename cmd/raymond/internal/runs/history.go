package runs

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// Execution is one state execution of a run, as the command history prints it.
type Execution struct {
	Exec       int               `json:"exec"` // number of the execution; executions are numbered in the order of their starts
	Agent      string            `json:"agent"`
	State      string            `json:"state"`
	Status     string            `json:"status"`
	CostUSD    state.USD         `json:"cost_usd"`
	Started    time.Time         `json:"started"`
	DurationMS int64             `json:"duration_ms"` // 0 until the execution has ended
	Attempts   int               `json:"attempts"`    // number of verdicts, at least 1
	SessionID  string            `json:"session_id"`  // empty for a script
	Transition *state.Transition `json:"transition"`  // nil before the first transition; after several forks, the last transition
	Files      []string          `json:"files"`       // the files that the execution has changed; nil if it has no snapshot

	of report.Exec
}

// ReadModel builds the model of a run from its event log and its state file.
func ReadModel(stateDir string, run *state.Run) (*report.Model, error) {
	return report.ModelOf(run, report.Events(filepath.Join(stateDir, run.WorkflowID, "events.jsonl")), nil)
}

// executions reads a run without locking it. It returns the run and its state executions in the order of
// their numbers.
func executions(stateDir, id string) (*state.Run, []Execution, error) {
	run, driver, err := Read(stateDir, id)
	if err != nil {
		return nil, nil, err
	}
	m, err := ReadModel(stateDir, run)
	if err != nil {
		return nil, nil, err
	}
	list := []Execution{}
	for _, x := range m.Rows(driver != nil) {
		list = append(list, Execution{
			Exec: x.N, Agent: x.Agent, State: x.State, Status: x.Status, CostUSD: x.Spent.USD, SessionID: x.SessionID, Transition: x.Transition,
			Started: x.Started, DurationMS: x.DurationMS, Attempts: max(1, len(x.Attempts)), of: x,
		})
	}
	return run, list, nil
}

// History returns the state executions of a run in a state directory. If shots is not nil, it sets the
// names of the files that each execution has changed.
func History(stateDir, id string, shots *workspace.Snapshots) ([]Execution, error) {
	_, list, err := executions(stateDir, id)
	if err != nil || shots == nil {
		return list, err
	}
	changes, err := shots.Changes(context.Background(), workspace.DiffLimits{})
	if err != nil {
		return nil, problem.OfMachine("snapshots of "+id, err)
	}
	for i := range list {
		found, ok := changes[list[i].Exec]
		if !ok {
			continue
		}
		files := []string{}
		for _, c := range found.Files {
			files = append(files, c.Path)
		}
		list[i].Files = slices.Compact(files) // a file that became a directory is listed twice
	}
	return list, nil
}

// PrintHistory prints a table with one line for each execution.
func PrintHistory(out io.Writer, list []Execution) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "EXEC\tAGENT\tSTATE\tSTATUS\tCOST\tTIME\tATTEMPTS\tSESSION\tTRANSITION\tFILES")
	for _, e := range list {
		took := ""
		if e.Status != report.Running && e.Status != report.Interrupted {
			took = report.FormatDuration(time.Duration(e.DurationMS) * time.Millisecond)
		}
		files := strings.Join(e.Files, ", ")
		if more := len(e.Files) - maxNames; more > 0 {
			files = fmt.Sprintf("%s and %d more", strings.Join(e.Files[:maxNames], ", "), more)
		}
		attempts := fmt.Sprint(e.Attempts)
		for _, c := range []struct {
			n     int
			thing string
		}{{len(e.of.Retries), "retry"}, {len(e.of.Reminders), "reminder"}, {len(e.of.Interruptions), "interruption"}} {
			if c.n > 0 {
				attempts += ", " + state.Count(c.n, c.thing)
			}
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Exec, text.Escape(e.Agent), text.Escape(e.State), e.Status,
			e.of.Spent.Spent, orDash(took), attempts, orDash(e.SessionID), orDash(e.next()), orDash(files))
	}
	return w.Flush()
}

// orDash escapes s for the table. It returns "-" if s is empty.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return text.Escape(s)
}

// next describes the transition that ended the execution. For a failed execution it returns the error.
func (e *Execution) next() string {
	t := e.Transition
	switch {
	case e.Status == report.Failed:
		return problem.Shorten(e.of.Error)
	case t == nil:
		return ""
	}
	words := strings.TrimSpace(t.Tag + " " + t.Target)
	for _, after := range []string{t.Return, t.Next} {
		if after != "" {
			words += ", then " + after
		}
	}
	return words
}

// maxNames is the maximum number of files that one line of the table names.
const maxNames = 3
