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

// Execution is one state execution of a run, as history shows it.
type Execution struct {
	Exec       int               `json:"exec"` // its number: they are counted in the order in which they start
	Agent      string            `json:"agent"`
	State      string            `json:"state"`
	Status     string            `json:"status"`
	CostUSD    state.USD         `json:"cost_usd"`
	Started    time.Time         `json:"started"`
	DurationMS int64             `json:"duration_ms"` // of the work in it, 0 while it goes on
	Attempts   int               `json:"attempts"`    // the verdicts on it; 1 where there are none
	SessionID  string            `json:"session_id"`  // "" of a script
	Transition *state.Transition `json:"transition"`  // nil while there is none; the last one of a state that forked several agents
	Files      []string          `json:"files"`       // that it has changed; nil where there are no snapshots of them

	of report.Exec
}

// ReadModel reads what is known of a run from its event log and its state file.
func ReadModel(stateDir string, run *state.Run) (*report.Model, error) {
	return report.ModelOf(run, report.Events(filepath.Join(stateDir, run.WorkflowID, "events.jsonl")), nil)
}

// executions reads a run, without its lock, and what it did, in the order of the numbers.
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

// History returns the state executions of a run of a state folder, with the files that they changed where
// shots, which may be nil, has them.
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
		list[i].Files = slices.Compact(files) // a file that has become a folder is told twice
	}
	return list, nil
}

// PrintHistory prints a line for each execution.
func PrintHistory(out io.Writer, list []Execution) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "EXEC\tAGENT\tSTATE\tSTATUS\tCOST\tTIME\tATTEMPTS\tSESSION\tTRANSITION\tFILES")
	for _, e := range list {
		took := ""
		if e.Status != report.Running && e.Status != report.Interrupted {
			took = report.FormatDuration(time.Duration(e.DurationMS) * time.Millisecond)
		}
		files := strings.Join(e.Files, ", ")
		if more := len(e.Files) - mostNames; more > 0 {
			files = fmt.Sprintf("%s and %d more", strings.Join(e.Files[:mostNames], ", "), more)
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%d%s\t%s\t%s\t%s\n", e.Exec, text.Escape(e.Agent), text.Escape(e.State), e.Status,
			e.of.Spent.Spent, orDash(took), e.Attempts, e.again(), orDash(e.SessionID), orDash(e.next()), orDash(files))
	}
	return w.Flush()
}

// orDash shows that there is nothing.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return text.Escape(s)
}

// again says what was done again in an execution besides attempts.
func (e *Execution) again() (text string) {
	for _, c := range []struct {
		n     int
		thing string
	}{{len(e.of.Retries), "retry"}, {len(e.of.Reminders), "reminder"}, {len(e.of.Interruptions), "interruption"}} {
		if c.n > 0 {
			text += ", " + state.Count(c.n, c.thing)
		}
	}
	return text
}

// next says where the execution led, and why it failed if it did.
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

// mostNames is how many files are named in a line.
const mostNames = 3
