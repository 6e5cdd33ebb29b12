package insight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// Index is what is known of many runs.
type Index struct {
	Runs       []Row    `json:"runs"`   // the newest first
	ByDay      []Total  `json:"by_day"` // in UTC, the newest first, by when state executions began
	ByWorkflow []Total  `json:"by_workflow"`
	ByState    []Total  `json:"by_state"` // the most expensive first
	LeftOut    []string `json:"left_out"` // a line each, for people
}

// Row is one run in an Index.
type Row struct {
	WorkflowID   string    `json:"workflow_id"`
	Status       string    `json:"status"` // interrupted when nobody drives a run that has not ended; invalid
	Reason       string    `json:"reason,omitempty"`
	Workflow     string    `json:"workflow"` // what it was started from
	Created      time.Time `json:"created,omitzero"`
	Finished     time.Time `json:"finished,omitzero"` // of the last event
	Agents       int       `json:"agents"`
	Executions   int       `json:"executions"`
	Failed       int       `json:"failed"`  // state executions
	Retries      int       `json:"retries"` // and attempts beyond the first
	Spent        Spent     `json:"spent"`
	InheritedUSD state.USD `json:"inherited_usd,omitempty"`
	RerunOf      *RerunOf  `json:"rerun_of,omitempty"`
	Error        string    `json:"error,omitempty"` // why the run can't be read
}

// Total is what state executions of many runs add up to.
type Total struct {
	Workflow   string `json:"workflow,omitempty"` // of a state
	Runs       int    `json:"runs"`
	FailedRuns int    `json:"failed_runs"`
	Sum
}

// mostRows is how many runs an Index has at most, and mostTotals how many totals of a kind.
const (
	mostRows   = 5000
	mostTotals = 1000
)

// Indexer puts an Index together, run by run.
type Indexer struct {
	hide                      func(string) string
	rows                      []Row
	byDay, byWorkflow, byStep map[[2]string]*Total
}

// NewIndexer returns an Indexer without runs. hide replaces secrets; nil leaves texts as
// they are.
func NewIndexer(hide func(string) string) *Indexer {
	if hide == nil {
		hide = func(text string) string { return text }
	}
	return &Indexer{hide: hide, byDay: map[[2]string]*Total{}, byWorkflow: map[[2]string]*Total{}, byStep: map[[2]string]*Total{}}
}

// Add adds a run. Of s, only Run, IsDriven and Events are looked at. After an error of Events,
// which is returned, nothing of the run has been added.
func (x *Indexer) Add(s Source) error {
	c := newCollector()
	if err := c.addAll(s); err != nil {
		return err
	}
	run := s.Run
	row := Row{
		WorkflowID: run.WorkflowID, Status: statusOf(s), Reason: short(x.hide(run.Progress.Reason), 300),
		Workflow: x.hide(run.Scope), Created: run.Created, Finished: c.now, Agents: len(c.agents.all), Spent: spentOf(run.Spent()),
		InheritedUSD: run.InheritedUSD, RerunOf: rerunOf(run),
	}
	days, states := map[string]bool{}, map[string]bool{}
	for _, e := range c.execs {
		day := e.Started.UTC().Format(time.DateOnly)
		one := Sum{}
		one.add(e)
		row.Executions, row.Failed, row.Retries = row.Executions+1, row.Failed+one.Failed, row.Retries+one.Retries
		row.Spent.Tokens = plusTokens(row.Spent.Tokens, e.Spent.Tokens)
		of(x.byDay, "", day).add(one)
		of(x.byStep, row.Workflow, e.State).add(one)
		of(x.byWorkflow, "", row.Workflow).add(one)
		days[day], states[e.State] = true, true
	}
	failed := 0
	if row.Status == Failed {
		failed = 1
	}
	totals := []*Total{of(x.byWorkflow, "", row.Workflow)}
	for day := range days {
		totals = append(totals, of(x.byDay, "", day))
	}
	for name := range states {
		totals = append(totals, of(x.byStep, row.Workflow, name))
	}
	for _, t := range totals {
		t.Runs, t.FailedRuns = t.Runs+1, t.FailedRuns+failed
	}
	x.rows = append(x.rows, row)
	return nil
}

// AddBroken adds a run that can't be read.
func (x *Indexer) AddBroken(id string, err error) {
	x.rows = append(x.rows, Row{WorkflowID: id, Status: "invalid", Error: short(x.hide(err.Error()), 300)})
}

// of returns a total.
func of(totals map[[2]string]*Total, workflow, name string) *Total {
	key := [2]string{workflow, name}
	if totals[key] == nil {
		totals[key] = &Total{Workflow: workflow, Sum: Sum{Name: name}}
	}
	return totals[key]
}

// add adds what one execution comes to.
func (t *Total) add(one Sum) {
	t.Executions, t.Failed, t.Retries = t.Executions+one.Executions, t.Failed+one.Failed, t.Retries+one.Retries
	t.DurationMS += one.DurationMS
	t.Spent = t.Spent.plus(one.Spent)
}

// Index returns what the runs added up to. The Indexer must not be used afterwards.
func (x *Indexer) Index() *Index {
	byCost := func(a, b Total) int {
		return cmp.Or(cmp.Compare(b.Spent.USD, a.Spent.USD), cmp.Compare(b.DurationMS, a.DurationMS), cmp.Compare(a.Workflow, b.Workflow), cmp.Compare(a.Name, b.Name))
	}
	byDay := func(a, b Total) int { return cmp.Compare(b.Name, a.Name) }
	slices.SortFunc(x.rows, func(a, b Row) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.WorkflowID, b.WorkflowID))
	})
	i := &Index{LeftOut: []string{}, Runs: x.rows}
	i.ByDay = i.most("days", totals(x.byDay, byDay))
	i.ByWorkflow, i.ByState = i.most("workflows", totals(x.byWorkflow, byCost)), i.most("states", totals(x.byStep, byCost))
	if all := len(i.Runs); all > mostRows {
		i.Runs = i.Runs[:mostRows]
		i.leaveOut("The newest %d of %d runs are here. The sums are of all.", mostRows, all)
	}
	if i.Runs == nil {
		i.Runs = []Row{}
	}
	return i
}

// leaveOut says what is not in the index.
func (i *Index) leaveOut(format string, args ...any) {
	i.LeftOut = append(i.LeftOut, fmt.Sprintf(format, args...))
}

func totals(all map[[2]string]*Total, order func(a, b Total) int) []Total {
	out := make([]Total, 0, len(all))
	for t := range maps.Values(all) {
		out = append(out, *t)
	}
	slices.SortFunc(out, order)
	return out
}

// most bounds a list.
func (i *Index) most(what string, list []Total) []Total {
	if len(list) > mostTotals {
		i.leaveOut("%d of %d %s are here.", mostTotals, len(list), what)
		list = list[:mostTotals]
	}
	return list
}
