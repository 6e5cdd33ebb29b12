// Package insight collects everything that is known about a run, from its state file, its event
// log, the transcripts of its conversations and the snapshots of its workspace. The result is the
// data of the HTML report, which programs can also read as JSON.
//
// Texts are masked when they are read, and limited in size; the report has a note for each omission.
// Texts are not escaped: that is the task of the package that writes a page.
package insight

import (
	"time"

	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// Report is everything that is shown about a run.
type Report struct {
	WorkflowID string            `json:"workflow_id"`
	Status     string            `json:"status"` // interrupted if no process drives an unfinished run
	Outcome    string            `json:"outcome,omitempty"`
	Reason     string            `json:"reason,omitempty"`
	Scope      string            `json:"scope"`
	Entry      string            `json:"entry"`
	Meta       map[string]string `json:"meta,omitempty"`
	Created    time.Time         `json:"created"`
	Finished   time.Time         `json:"finished,omitzero"` // time of the last event
	Result     string            `json:"result,omitempty"`
	Next       string            `json:"next,omitempty"` // next steps for the run, as text; commands are in backticks or start with "raymond "

	Spent        report.Spent     `json:"spent"`
	InheritedUSD state.USD        `json:"inherited_usd,omitempty"` // cost inherited from the original, if the run began as a copy
	BudgetUSD    state.USD        `json:"budget_usd,omitempty"`
	RerunOf      *state.RerunOf   `json:"rerun_of,omitempty"`
	Segments     []report.Segment `json:"parts"` // segments: from each start or resume to the next stop
	Agents       []report.Agent   `json:"agents"`
	Executions   []report.Exec    `json:"executions"` // in the order of their numbers
	Waits        []report.Wait    `json:"waits"`
	Limits       []report.Limit   `json:"limits"`
	Costs        Costs            `json:"costs"`
	LeftOut      []string         `json:"left_out"` // notes on omissions, one sentence each
}

// Costs are the total costs of all executions.
type Costs struct {
	ByAgent []report.Sum `json:"by_agent"`
	ByState []report.Sum `json:"by_state"`
	ByModel []report.Sum `json:"by_model"`
}
