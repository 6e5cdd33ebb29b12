package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/state"
)

// listing is one run as list and status show it.
type listing struct {
	WorkflowID string         `json:"workflow_id"`
	Status     state.Status   `json:"status"`
	Reason     string         `json:"reason,omitempty"`
	Until      *time.Time     `json:"until,omitempty"`
	Scope      string         `json:"scope,omitempty"`
	Created    *time.Time     `json:"created,omitempty"`
	Iterations int            `json:"iterations"`
	CostUSD    state.USD      `json:"cost_usd"`
	BudgetUSD  state.USD      `json:"budget_usd"`
	Resumable  bool           `json:"resumable"`
	Agents     []agentListing `json:"agents"`
	Ended      []state.Ending `json:"ended"`
	Result     *state.Text    `json:"result,omitempty"`
	Error      string         `json:"error,omitempty"`
}

// agentListing is one agent that has not ended.
type agentListing struct {
	ID      string            `json:"id"`
	State   string            `json:"state"`
	Status  state.AgentStatus `json:"status"`
	Depth   int               `json:"depth"`
	Session string            `json:"session_id,omitempty"`
	Error   string            `json:"error,omitempty"`
}

func list(run *state.Run) listing {
	p := &run.Progress
	l := listing{
		WorkflowID: run.WorkflowID, Status: p.Status, Reason: p.Reason, Scope: run.Scope, Created: &run.Created,
		Iterations: p.Iterations, CostUSD: p.TotalUSD, BudgetUSD: run.Options.BudgetUSD,
		Resumable: p.Status != state.Completed, Agents: []agentListing{}, Ended: []state.Ending{},
	}
	l.Ended = append(l.Ended, run.Ended...)
	if !p.Until.IsZero() {
		l.Until = &p.Until
	}
	if text, ok := run.Result(); ok {
		l.Result = &text
	}
	for _, a := range run.Agents {
		entry := agentListing{ID: a.ID, State: a.State, Status: a.Status, Depth: len(a.Stack)}
		if a.Session != nil {
			entry.Session = a.Session.ID
		}
		if a.Fault != nil {
			entry.Error = a.Fault.Message
		}
		l.Agents = append(l.Agents, entry)
	}
	return l
}

// readFlags gives cmd the flags of the commands that only read.
func (a *App) readFlags(cmd *cobra.Command) (o *options, asJSON *bool) {
	o = &options{cmd: cmd, set: map[string]bool{}}
	a.options[cmd] = o
	o.addStateDir()
	asJSON = new(bool)
	o.flag("json", "print JSON for programs", func(b bool) { *asJSON = b })
	return o, asJSON
}

func (a *App) listCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "the runs of the state folder"}
	o, asJSON := a.readFlags(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			o.errs = append(o.errs, usage("arguments", "list takes none", "raymond status WORKFLOW_ID shows one run"))
		}
		if err := o.check(); err != nil {
			return err
		}
		return a.list(o.stateDir, *asJSON)
	}
	return cmd
}

// list shows every run; one that can't be read is shown as such, and makes the
// exit code that of bad_state.
func (a *App) list(dir string, asJSON bool) error {
	ids, err := state.List(dir)
	if err != nil {
		return err
	}
	runs := []listing{}
	var broken []error
	for _, id := range ids {
		run, err := state.Read(dir, id)
		if err != nil {
			broken = append(broken, err)
			runs = append(runs, listing{WorkflowID: id, Status: "invalid", Error: err.Error()})
			continue
		}
		runs = append(runs, list(run))
	}
	if asJSON {
		return errors.Join(a.printJSON(runs), errors.Join(broken...))
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "WORKFLOW ID\tSTATUS\tAGENTS\tSTATES RUN\tCOST\tCREATED")
	for _, r := range runs {
		created := ""
		if r.Created != nil {
			created = r.Created.Format("2006-01-02 15:04")
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t$%s\t%s\n", r.WorkflowID, r.Status, len(r.Agents), r.Iterations, r.CostUSD, created)
	}
	return errors.Join(w.Flush(), errors.Join(broken...))
}

func (a *App) printJSON(v any) error {
	enc := json.NewEncoder(a.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func (a *App) statusCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "status WORKFLOW_ID", Short: "how a run stands"}
	o, asJSON := a.readFlags(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := errors.Join(o.check(), needID(args)); err != nil {
			return err
		}
		run, err := state.Read(o.stateDir, args[0])
		if err != nil {
			return err
		}
		if *asJSON {
			return a.printJSON(list(run))
		}
		return showStatus(a.Stdout, list(run))
	}
	return cmd
}

func showStatus(out io.Writer, l listing) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, oneLine(text))
		}
	}
	row("workflow id", l.WorkflowID)
	row("status", string(l.Status))
	row("reason", l.Reason)
	if l.Until != nil {
		row("until", l.Until.UTC().Format(time.RFC3339))
	}
	row("scope", l.Scope)
	row("cost", fmt.Sprintf("$%s of $%s", l.CostUSD, l.BudgetUSD))
	row("states run", fmt.Sprint(l.Iterations))
	for _, a := range l.Agents {
		row("agent "+a.ID, fmt.Sprintf("%s at %s  %s", a.Status, a.State, a.Error))
	}
	for _, e := range l.Ended {
		row("agent "+e.Agent, "ended: "+shorten(string(e.Result)))
	}
	if l.Resumable {
		row("go on", "raymond resume "+l.WorkflowID)
	}
	return w.Flush()
}
