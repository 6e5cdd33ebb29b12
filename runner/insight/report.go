// Package insight collects everything that is known about a run from its state file, its event log,
// the transcripts of its conversations and the snapshots of its workspace. The result is the data
// of the HTML report. Programs can read the same data as JSON.
//
// Secrets in texts are masked when the texts are read. The size of texts is limited, and the report
// has a note for each omission. Texts are not escaped; the package that writes the page does that.
package insight

import (
	"time"

	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// Report is the data of the HTML report about a run.
type Report struct {
	WorkflowID string            `json:"workflow_id"`
	Status     string            `json:"status"` // "interrupted" if the run has not ended and no process drives it
	Outcome    string            `json:"outcome,omitempty"`
	Reason     string            `json:"reason,omitempty"`
	Scope      string            `json:"scope"`
	Entry      string            `json:"entry"`
	Meta       map[string]string `json:"meta,omitempty"`
	Created    time.Time         `json:"created"`
	Finished   time.Time         `json:"finished,omitzero"` // time of the last event
	Result     string            `json:"result,omitempty"`
	// Next describes how to continue the run. Commands in it are between backticks or start with
	// "raymond ".
	Next string `json:"next,omitempty"`

	Spent report.Spent `json:"spent"`
	// InheritedUSD is the cost inherited from the original run if this run began as a copy of it.
	InheritedUSD state.USD      `json:"inherited_usd,omitempty"`
	BudgetUSD    state.USD      `json:"budget_usd,omitempty"`
	RerunOf      *state.RerunOf `json:"rerun_of,omitempty"`
	// Segments are the periods in which the run was driven, each from a start or a resume to the
	// next stop.
	Segments   []report.Segment `json:"parts"`
	Agents     []report.Agent   `json:"agents"`
	Executions []report.Exec    `json:"executions"` // in the order of their numbers
	Waits      []report.Wait    `json:"waits"`
	Limits     []report.Limit   `json:"limits"`
	Costs      Costs            `json:"costs"`
	LeftOut    []string         `json:"left_out"` // one sentence for each omission
}

// Costs are the total costs of all executions.
type Costs struct {
	ByAgent []report.Sum `json:"by_agent"`
	ByState []report.Sum `json:"by_state"`
	ByModel []report.Sum `json:"by_model"`
}
