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

// booking records which part of a run's cost belongs to this step, and how much of it is stored.
type booking struct {
	FromUSD state.USD `json:"from_usd,omitempty"` // cost of the run when this step began
	// Name is the artifact that contains StoredUSD, or that was about to be stored with it.
	Name      string    `json:"name,omitempty"`
	StoredUSD state.USD `json:"stored_usd,omitempty"`
	IsStored  bool      `json:"is_stored,omitempty"` // the artifact was stored
}

// openBook records the cost of the run at the start of this step, and limits the run by the budgets
// for several runs, as far as their spending is known.
func openBook(ctx context.Context, s *step, b *readyRun) error {
	run := b.run
	if from := run.Progress.TotalUSD; from > 0 {
		if err := s.note.change(func(d *noteData) { d.Booking.FromUSD = from }); err != nil {
			return err
		}
	}
	if s.in.BudgetPerKey == 0 && s.in.BudgetPerDay == 0 {
		return nil
	}
	spent, err := spentBefore(ctx, s)
	if err != nil {
		return err
	}
	var caps []state.Cap
	for _, c := range []state.Cap{
		state.NewCap(state.BudgetPerKey, s.in.BudgetPerKey, spent.Key, run.Progress.TotalUSD),
		state.NewCap(state.BudgetPerDay, s.in.BudgetPerDay, spent.File, run.Progress.TotalUSD),
	} {
		if c.MaxUSD == 0 {
			continue
		}
		if s.part() != nil && b.manifest.Part == nil { // a new part gets its share of the rest for all parts
			own, _ := run.Parts.OwnPart()
			c.AllowUSD = own.BudgetShare(c.AllowUSD, 0, run.Agents)
		}
		caps = append(caps, c)
		s.log.print(fmt.Sprintf("%s: $%s of $%s spent in the last 24 hours", c.Which, c.BeforeUSD, c.MaxUSD))
	}
	if spent.Minimum != "" {
		text := caps[0].Which + ": the known spending of the last 24 hours is a minimum: " + spent.Minimum
		s.log.warn(text)
		s.log.note(sentence(text))
	}
	b.options().Caps = caps // for this step only
	return nil
}

// spentBefore returns the spending of the last 24 hours. If it can't be read, no run begins,
// because its budget could not be enforced.
func spentBefore(ctx context.Context, s *step) (slots.Spent, error) {
	if s.stored.err != nil { // also with store: local
		return slots.Spent{}, s.stored.err
	}
	spent, err := s.stored.finder.Spent(ctx, s.query(), time.Now().Add(-budgetWindow))
	if down, ok := errors.AsType[*slots.Unavailable](err); ok {
		input := state.BudgetPerKey
		if s.in.BudgetPerKey == 0 {
			input = state.BudgetPerDay
		}
		return spent, &problem.Problem{Class: problem.ClassStore, Where: "input " + input, What: "could not read the spending of the last 24 hours: " + down.Err.Error(),
			Hint: "nothing was started; run the job again later, or remove the input"}
	}
	return spent, err
}

// book stores, once, how much this step has added to the cost of its run. The post phase does it if
// the main phase had no time.
func book(ctx context.Context, s *step, run *state.Run) error {
	done := s.note.get().Booking
	usd := run.Progress.TotalUSD - done.FromUSD
	if done.IsStored {
		usd -= done.StoredUSD
	}
	if usd <= 0 {
		return nil
	}
	if s.stored.runtime == nil {
		return s.stored.err
	}
	ctx, cancel := context.WithTimeout(ctx, bookingTime)
	defer cancel()
	if done.Name != "" && !done.IsStored {
		there, err := slots.HasStored(ctx, s.stored.runtime, done.Name)
		if there {
			usd -= done.StoredUSD
		}
		if err != nil || usd <= 0 {
			return err
		}
	}
	x := slots.Spending{Workflow: s.event.Workflow, Key: s.key, USD: usd, Job: jobOf(s.event)}
	if part := s.part(); part != nil {
		x.Part = part.Name
	}
	err := x.Store(ctx, s.stored.runtime, time.Now().Add(keptSpending), func(name string) error {
		return s.note.change(func(d *noteData) { d.Booking.Name, d.Booking.StoredUSD, d.Booking.IsStored = name, usd, false })
	})
	if err != nil {
		return err
	}
	return s.note.change(func(d *noteData) { d.Booking.IsStored = true })
}

// completeRun adds to the log of a run the events that the main phase saved but had no time to
// report. It also charges the run for invocations that were interrupted, from their saved meters.
// If the state can't be written, the charge still counts in run.
func completeRun(s *step, file *journal.File, run *state.Run) error {
	// The log is opened first: a killed process may have reported events whose numbers the state
	// doesn't contain.
	log, err := session.OpenLog(s.dirs.run(run.WorkflowID), run, s.log.shown, s.note.seals)
	if err == nil {
		defer log.Close()
	}
	if len(run.InterruptedAgents()) == 0 {
		return err
	}
	c := runner.Config{Agents: conversationsOf(s), ListPrice: session.Prices(run.Options).Cost}
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

// bookAltered stores the maximum that a main phase may have spent if its record was altered, so
// that altering the record gains nothing beyond the budget of the run.
func bookAltered(ctx context.Context, s *step) {
	if s.in.NoPrompts {
		return
	}
	run := &state.Run{}
	run.Progress.TotalUSD = s.options.ForNewRun().BudgetUSD
	if run.Progress.TotalUSD > 0 {
		s.log.warn("the spending of this step is unknown: the whole budget of the run counts toward budget-per-key and budget-per-day of later runs")
	}
	if err := book(ctx, s, run); err != nil {
		s.log.warn(notBooked(err))
	}
}

func notBooked(err error) string {
	return "the spending of this step could not be stored, so it doesn't count toward budget-per-key and budget-per-day of later runs: " + strings.TrimSpace(err.Error())
}
