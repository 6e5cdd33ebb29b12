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
)

// budgetWindow is the time for which the budgets of many runs hold, and keptSpending how
// long what they are summed up from is stored at least.
const (
	budgetWindow = 24 * time.Hour
	keptSpending = 2 * budgetWindow
)

// bookingTime is how long storing what a step has spent may take.
const bookingTime = 20 * time.Second

// booking says what of the cost of a run is this step's, and how much of that is stored.
type booking struct {
	FromUSD state.USD `json:"from_usd,omitempty"` // what the run had cost when this step began
	// Name is the artifact under which StoredUSD was stored, or was about to be.
	Name      string    `json:"name,omitempty"`
	StoredUSD state.USD `json:"stored_usd,omitempty"`
	IsStored  bool      `json:"is_stored,omitempty"` // it was
}

// openBook notes what a run had cost when this step began, and holds the run to the budgets
// of many runs, as far as what they have spent is known by now.
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
		if s.part() != nil && b.manifest.Part == nil { // it begins, with its share of what is left for all parts
			own, _ := run.Parts.OwnPart()
			c.AllowUSD = own.BudgetShare(c.AllowUSD, 0, run.Agents)
		}
		caps = append(caps, c)
		s.log.print(fmt.Sprintf("%s: $%s of $%s spent in the last 24 hours", c.Which, c.BeforeUSD, c.MaxUSD))
	}
	if spent.Minimum != "" {
		text := caps[0].Which + ": the sum of what was spent in the last 24 hours is a minimum: " + spent.Minimum
		s.log.warn(text)
		s.log.note(sentence(text))
	}
	b.options().Caps = caps // in this step alone
	return nil
}

// spentBefore adds up what was spent in the last 24 hours. A run is not begun when that
// can't be had, since nothing would hold it to its budget.
func spentBefore(ctx context.Context, s *step) (slots.Spent, error) {
	if s.stored.err != nil { // also where its runs are kept on the machine
		return slots.Spent{}, s.stored.err
	}
	spent, err := s.stored.finder.Spent(ctx, s.query(), time.Now().Add(-budgetWindow))
	if down, ok := errors.AsType[*slots.Unavailable](err); ok {
		input := state.BudgetPerKey
		if s.in.BudgetPerKey == 0 {
			input = state.BudgetPerDay
		}
		return spent, &problem.Problem{Class: problem.ClassStore, Where: "input " + input, What: "what was spent in the last 24 hours can't be had: " + down.Err.Error(),
			Hint: "nothing was started; without the input a run starts all the same"}
	}
	return spent, err
}

// book stores what this step has added to the cost of its run, once. The post part does it
// where the main part had no time.
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

// completeRun adds to the log of a run the events that the main part saved and was not left the time to tell, and has the
// run have what the invocations have used that were under way when that was killed: their meters were saved. Where it can't
// be written, it is booked all the same.
func completeRun(s *step, file *state.File, run *state.Run) error {
	// The log is opened first: a killed process may have told events whose numbers the state doesn't know.
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

// bookAltered stores what a main part may have spent at most whose record was altered: who alters it does not
// get more than the budget of the run by that.
func bookAltered(ctx context.Context, s *step) {
	if s.in.NoPrompts {
		return
	}
	run := &state.Run{}
	run.Progress.TotalUSD = s.options.ForNewRun().BudgetUSD
	if run.Progress.TotalUSD > 0 {
		s.log.warn("it is not known what this step has spent: the whole budget of the run counts for budget-per-key and budget-per-day of later runs")
	}
	if err := book(ctx, s, run); err != nil {
		s.log.warn(notBooked(err))
	}
}

func notBooked(err error) string {
	return "what this step has spent could not be stored, and doesn't count for budget-per-key and budget-per-day of later runs: " + strings.TrimSpace(err.Error())
}
