package action

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/store"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// budgetWindow is the period for which the budgets of several runs apply. keptSpending is how long
// spending artifacts are stored at least.
const (
	budgetWindow = 24 * time.Hour
	keptSpending = 2 * budgetWindow
)

// bookingTime is the time limit for storing a step's spending.
const bookingTime = 20 * time.Second

// loadSpending limits the run by the budgets for several runs, as far as their spending is known.
func (r *readyRun) loadSpending(ctx context.Context, j *Job, log *jobLog) error {
	if j.in.BudgetPerKey == 0 && j.in.BudgetPerDay == 0 {
		return nil
	}
	spent, err := ledgerOf(j).Spent(ctx, j.key, time.Now().Add(-budgetWindow))
	if down, ok := errors.AsType[*slots.Unavailable](err); ok { // the budget could not be enforced
		input := state.BudgetPerKey
		if j.in.BudgetPerKey == 0 {
			input = state.BudgetPerDay
		}
		return &problem.Problem{Class: problem.ClassStore, Where: "input " + input, What: "could not read the spending of the last 24 hours: " + down.Err.Error(),
			Hint: "nothing was started; run the job again later, or remove the input"}
	}
	if err != nil {
		return err
	}
	var caps []state.Cap
	for _, c := range []state.Cap{
		state.NewCap(state.BudgetPerKey, j.in.BudgetPerKey, spent.Key, r.run.Progress.TotalUSD),
		state.NewCap(state.BudgetPerDay, j.in.BudgetPerDay, spent.File, r.run.Progress.TotalUSD),
	} {
		if c.MaxUSD == 0 {
			continue
		}
		if r.part != nil && r.lookup.Manifest.Part == nil { // a new part gets its share of the rest for all parts
			own, _ := r.run.Parts.OwnPart()
			c.AllowUSD = own.BudgetShare(c.AllowUSD, 0, r.run.Agents)
		}
		caps = append(caps, c)
		log.print(fmt.Sprintf("%s: $%s of $%s spent in the last 24 hours", c.Which, c.BeforeUSD, c.MaxUSD))
	}
	if spent.Minimum != "" {
		text := caps[0].Which + ": the known spending of the last 24 hours is a minimum: " + spent.Minimum
		log.Warn(text)
		log.Note(sentence(text))
	}
	r.options().Caps = caps // for this step only
	return nil
}

// ledgerOf returns the ledger of the job's repository.
func ledgerOf(j *Job) store.Ledger {
	return store.Ledger{Config: store.Config{Inputs: j.in, Event: j.event, Keys: j.keys, Services: j.services}}
}

// recordSpending stores, once, how much this step has added to the cost of its run. The post phase
// does it if the main phase had no time.
func recordSpending(ctx context.Context, j *Job, note *postNote, run *state.Run) error {
	ctx, cancel := context.WithTimeout(ctx, bookingTime)
	defer cancel()
	done := note.get()
	return ledgerOf(j).Book(ctx, j.key, run.Progress.TotalUSD-done.FromUSD, done.Booking, time.Now().Add(keptSpending), func(b store.Booking) error {
		return note.change(func(d *noteData) { d.Booking = b })
	})
}

// completeRun adds to the log of a run the events that the main phase saved but had no time to
// report. It also charges the run for invocations that were interrupted, from their saved meters.
// If the state can't be written, the charge still counts in run.
func completeRun(j *Job, s *scratch, file *journal.File, run *state.Run) error {
	// The log is opened first: a killed process may have reported events whose numbers the state
	// doesn't contain.
	log, err := session.OpenLog(s.run(run.WorkflowID), run, s.log.shown, s.integrity)
	if err == nil {
		defer log.Close()
	}
	if len(run.InterruptedAgents()) == 0 {
		return err
	}
	c := runner.Config{Agents: agentsIn(j, cliDir(j, s.dirs, run.WorkflowID)), ListPrice: session.Prices(run.Options).Cost}
	charge := c.Charge(run, time.Now())
	if err == nil {
		err = file.Append(charge)
	}
	run.Apply(charge)
	if err != nil {
		return err
	}
	for _, e := range run.Events {
		err = errors.Join(err, log.Report(e.Map(s.log.shown)))
	}
	return err
}

// recordMaximum stores the maximum that a main phase may have spent if its record was altered, so
// that altering the record gains nothing beyond the budget of the run.
func recordMaximum(ctx context.Context, j *Job, s *scratch) {
	if j.in.NoPrompts {
		return
	}
	run := &state.Run{}
	run.Progress.TotalUSD = j.options.ForNewRun().BudgetUSD
	if run.Progress.TotalUSD > 0 {
		s.log.Warn("the spending of this step is unknown: the whole budget of the run counts toward budget-per-key and budget-per-day of later runs")
	}
	if err := recordSpending(ctx, j, s.note, run); err != nil {
		s.log.Warn(spendingWarning(err))
	}
}

// spendingWarning returns a warning about spending that could not be stored.
func spendingWarning(err error) string {
	return "the spending of this step could not be stored, so it doesn't count toward budget-per-key and budget-per-day of later runs: " + strings.TrimSpace(err.Error())
}
