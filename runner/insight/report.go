// Package insight gathers what is known of a run, from its state file, its event log, the
// transcripts of its conversations and the snapshots of its files: the data that the page of
// a report shows, and that programs read as JSON.
//
// Texts are masked when they come in, and bounded; what was left out is said. Nothing is
// escaped: that is for those who write a page.
package insight

import (
	"time"

	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// Report is everything about a run that people and programs are shown.
type Report struct {
	WorkflowID string            `json:"workflow_id"`
	Status     string            `json:"status"` // interrupted when nobody drives a run that has not ended
	Outcome    string            `json:"outcome,omitempty"`
	Reason     string            `json:"reason,omitempty"`
	Scope      string            `json:"scope"`
	Entry      string            `json:"entry"`
	Meta       map[string]string `json:"meta,omitempty"`
	Created    time.Time         `json:"created"`
	Finished   time.Time         `json:"finished,omitzero"` // of the last event
	Result     string            `json:"result,omitempty"`
	Next       string            `json:"next,omitempty"` // what can be done with the run, for people; commands stand between backticks, or begin with "raymond "

	Spent        report.Spent     `json:"spent"`
	InheritedUSD state.USD        `json:"inherited_usd,omitempty"` // spent by the run that this one continues a copy of
	BudgetUSD    state.USD        `json:"budget_usd,omitempty"`
	RerunOf      *state.RerunOf   `json:"rerun_of,omitempty"`
	Segments     []report.Segment `json:"parts"` // of the time: from each start or resume to the stop after it
	Agents       []report.Agent   `json:"agents"`
	Executions   []report.Exec    `json:"executions"` // in the order of their numbers
	Waits        []report.Wait    `json:"waits"`
	Limits       []report.Limit   `json:"limits"`
	Costs        Costs            `json:"costs"`
	LeftOut      []string         `json:"left_out"` // a line each, for people
}

// Costs are sums of all executions.
type Costs struct {
	ByAgent []report.Sum `json:"by_agent"`
	ByState []report.Sum `json:"by_state"`
	ByModel []report.Sum `json:"by_model"`
}
