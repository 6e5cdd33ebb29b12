// Package runs reads the runs in a state directory. It lists them, builds reports, and prepares a new run
// that starts from a state execution of an earlier one. The new run gets copies of the earlier run's
// conversations, and new git worktrees with its files. The earlier run is never changed. The package also
// checks workflows for the lint command.
package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// Listing is the description of a run that the commands list and status print.
type Listing struct {
	WorkflowID    string               `json:"workflow_id"`
	Status        state.Status         `json:"status"`              // may also be interrupted or invalid
	DrivenBy      *journal.Driver      `json:"driven_by,omitempty"` // nil if no process drives the run
	Reason        string               `json:"reason,omitempty"`
	Until         *time.Time           `json:"until,omitempty"`
	Scope         string               `json:"scope,omitempty"`
	Created       *time.Time           `json:"created,omitempty"`
	Iterations    int                  `json:"iterations"`
	CostUSD       state.USD            `json:"cost_usd"`
	CostEstimated bool                 `json:"cost_estimated"` // whether a part of the cost is estimated
	CostUnknown   int                  `json:"cost_unknown"`   // number of invocations whose cost is unknown
	CostUnpriced  int64                `json:"cost_unpriced"`  // number of tokens that the cost doesn't include, because their model has no price
	InheritedUSD  state.USD            `json:"inherited_usd"`  // for a rerun: the earlier run's cost up to the point; cost_usd doesn't include it
	BudgetUSD     state.USD            `json:"budget_usd"`
	Resumable     bool                 `json:"resumable"`
	Agents        []AgentListing       `json:"agents"`
	Waiting       []state.WaitingAgent `json:"waiting"` // the agents that wait, with the reasons
	Ended         []state.Ending       `json:"ended"`
	Result        *state.Text          `json:"result,omitempty"`
	Error         string               `json:"error,omitempty"`
	RerunOf       string               `json:"rerun_of,omitempty"`   // for a rerun: the id of the earlier run
	RerunExec     int                  `json:"rerun_exec,omitempty"` // for a rerun: the state execution from which this run began

	spent state.Spent   // the cost, with its estimated and unknown parts
	waits []report.Wait // Waiting in human-readable form
}

// interrupted is the status of a run that no process drives although its state file says that it is running.
const interrupted state.Status = "interrupted"

// AgentListing is one agent that has not ended.
type AgentListing struct {
	ID      string            `json:"id"`
	State   string            `json:"state"`
	Status  state.AgentStatus `json:"status"`
	Since   *time.Time        `json:"since,omitempty"`   // when the current state execution began; nil between executions
	Attempt int               `json:"attempt,omitempty"` // the current attempt of that execution
	Depth   int               `json:"depth"`
	Session string            `json:"session_id,omitempty"`
	Error   string            `json:"error,omitempty"`

	why string // why the agent waits or has failed, in human-readable form
}

// Read reads a run without locking it, and finds the process that drives it. driver is nil if no process
// drives the run.
func Read(dir, id string) (run *state.Run, driver *journal.Driver, err error) {
	if driver, err = journal.FindDriver(dir, id); err != nil {
		return nil, nil, err
	}
	if run, err = journal.Read(dir, id); err != nil {
		return nil, nil, err
	}
	if driver == nil && run.Progress.Status == state.Running {
		// A process may have taken the lock between the calls of FindDriver and Read.
		driver, err = journal.FindDriver(dir, id)
	}
	return run, driver, err
}

// newListing describes a run. driver is nil if no process drives the run.
func newListing(run *state.Run, driver *journal.Driver) Listing {
	p, spent := &run.Progress, run.Spent()
	isInterrupted := p.Status == state.Running && driver == nil
	for _, a := range run.Agents {
		if isInterrupted && a.Exec != nil && a.Exec.Running != nil && a.Exec.Running.SessionID != "" {
			spent.Unknown++ // a resume adds the known cost of the invocation
		}
	}
	l := Listing{
		WorkflowID: run.WorkflowID, Status: p.Status, DrivenBy: driver, Reason: p.Reason, Scope: run.Scope, Created: &run.Created,
		Iterations: run.OwnExecutions(), InheritedUSD: run.InheritedUSD, BudgetUSD: run.Options.BudgetUSD,
		CostUSD: spent.USD, CostEstimated: spent.Estimated, CostUnknown: spent.Unknown, CostUnpriced: spent.Unpriced, spent: spent,
		Resumable: p.Status != state.Completed && driver == nil,
		Agents:    []AgentListing{}, Waiting: run.WaitingAgents(), waits: report.WaitsOf(run), Ended: append([]state.Ending{}, run.Ended...),
	}
	if isInterrupted {
		l.Status = interrupted
	}
	if of := run.RerunOf; of != nil {
		l.RerunOf, l.RerunExec = of.WorkflowID, of.Exec
	}
	if !p.Until.IsZero() {
		l.Until = &p.Until
	}
	if text, ok := run.Result(); ok {
		l.Result = &text
	}
	for _, a := range run.Agents {
		entry := AgentListing{ID: a.ID, State: a.State, Status: a.Status, Depth: len(a.Stack), why: a.FailureText()}
		if a.Session != nil {
			entry.Session = a.Session.ID
		}
		if e := a.Exec; e != nil {
			entry.Since, entry.Attempt = &e.Started, e.Attempt
		}
		if a.Failure != nil {
			entry.Error = a.Failure.Message
		}
		l.Agents = append(l.Agents, entry)
	}
	return l
}

// PrintAll prints every run in a state directory. A run that can't be read is listed as invalid, and
// PrintAll also returns an error of class bad_state for it.
func PrintAll(out io.Writer, dir string, asJSON bool) error {
	ids, err := journal.List(dir)
	if err != nil {
		return err
	}
	runs := []Listing{}
	var broken []error
	for _, id := range ids {
		run, driver, err := Read(dir, id)
		if err != nil {
			broken = append(broken, err)
			runs = append(runs, Listing{
				WorkflowID: id, Status: "invalid", Error: err.Error(),
				Agents: []AgentListing{}, Waiting: []state.WaitingAgent{}, Ended: []state.Ending{},
			})
			continue
		}
		runs = append(runs, newListing(run, driver))
	}
	if asJSON {
		return errors.Join(PrintJSON(out, runs), errors.Join(broken...))
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "WORKFLOW ID\tSTATUS\tAGENTS\tSTATES RUN\tCOST\tCREATED\tWAITS FOR")
	for _, r := range runs {
		created := ""
		if r.Created != nil {
			created = r.Created.Format("2006-01-02 15:04")
		}
		var kinds []string // what the agents wait for
		for _, wait := range r.Waiting {
			kinds = append(kinds, strings.TrimSpace(string(wait.For)+" "+wait.Job))
		}
		slices.Sort(kinds)
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\t%s\n", r.WorkflowID, r.Status, len(r.Agents), r.Iterations, r.spent, created, strings.Join(slices.Compact(kinds), ", "))
	}
	return errors.Join(w.Flush(), errors.Join(broken...))
}

// PrintJSON prints a value as indented JSON.
func PrintJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// Print prints the status of one run.
func Print(out io.Writer, dir, id string, asJSON bool) error {
	run, driver, err := Read(dir, id)
	if err != nil {
		return err
	}
	l := newListing(run, driver)
	if asJSON {
		return PrintJSON(out, l)
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, text.Escape(value))
		}
	}
	row("workflow id", l.WorkflowID)
	row("status", string(l.Status))
	if d := l.DrivenBy; d != nil && d.PID > 0 {
		row("driven by", fmt.Sprintf("process %d on %s", d.PID, d.Host))
	}
	reason := state.WithoutCode(l.Reason)
	if !slices.ContainsFunc(l.Agents, func(a AgentListing) bool { return a.why != "" && strings.HasSuffix(reason, a.why) }) {
		row("reason", reason) // otherwise the line of an agent contains it
	}
	if l.Until != nil {
		row("until", l.Until.UTC().Format(time.RFC3339))
	}
	row("scope", l.Scope)
	if l.RerunOf != "" {
		row("rerun of", fmt.Sprintf("%s from state execution %d", l.RerunOf, l.RerunExec))
	}
	cost := l.spent.String()
	if l.BudgetUSD > 0 {
		cost += " of " + l.BudgetUSD.Dollars()
	}
	row("cost", cost)
	if l.InheritedUSD > 0 {
		row("inherited", l.InheritedUSD.Dollars())
	}
	row("states run", fmt.Sprint(l.Iterations))
	for _, a := range l.Agents {
		row("agent "+a.ID, a.activity(l.DrivenBy != nil))
	}
	for _, w := range l.waits {
		row("waiting "+w.Agent, w.Text())
	}
	for _, e := range l.Ended {
		what := "ended: " + problem.Shorten(string(e.Result))
		if e.Error != "" {
			what = "failed, and was joined: " + problem.Shorten(e.Error)
		}
		row("agent "+e.Agent, what)
	}
	if l.Resumable {
		row("resume", report.ResumeHint(run, dir))
	}
	return w.Flush()
}

// activity describes the agent's current activity, or the reason why it stopped. isDriven is true if a
// process drives the run.
func (a *AgentListing) activity(isDriven bool) string {
	what := fmt.Sprintf("%s at %s", a.Status, a.State)
	if a.Status == state.Busy && !isDriven {
		what = fmt.Sprintf("was interrupted in %s, which a resume repeats", a.State)
	}
	if a.Since != nil {
		what += fmt.Sprintf(", begun %s", a.Since.UTC().Format(time.RFC3339))
	}
	if a.Attempt > 1 {
		what += fmt.Sprintf(", attempt %d", a.Attempt)
	}
	if a.why != "" {
		what += ": " + a.why
	}
	return what
}
