package state

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Stop is a decision from outside that ends the run early.
type Stop struct {
	Status Status // Cancelled or Suspended
	Reason string
	Until  time.Time // when to resume; zero when that does not matter
	// Continuations is how often in a row a step may start its workflow again after a
	// deadline; 0: never.
	Continuations int
}

// Closing is how a run ends, or this part of it.
type Closing struct {
	Status Status    // never Running
	Reason string    // why it is not Completed
	Until  time.Time // Suspended: when to resume; zero when that does not matter
	// Continuing is set for a run that its deadline suspends while agents are ready to
	// continue, if a step may start its workflow again at all.
	Continuing Continuation
}

// AsFailed returns the closing of a run that would be suspended as c says though
// nobody could resume it: the run fails. why says why nobody could.
func (c Closing) AsFailed(why error) Closing {
	return Closing{Status: Failed, Reason: "it would be suspended (" + c.Reason + "), and nobody could resume it: " + why.Error()}
}

// Closing returns how the run ends when nothing is under way and nothing can start.
// stop may be nil.
func (s *Step) Closing(stop *Stop) Closing {
	if count(s.Agents(), isAny) == 0 {
		return Closing{Status: Completed}
	}
	left, stuck, waiting := count(s.members(), isAny), count(s.members(), isStuck), count(s.members(), isWaiting)
	limits, p, options := s.limits(), &s.delta.Progress, s.Options()
	budget := limits.overBudget()
	switch {
	case left == 0:
		return Closing{Status: Suspended, Reason: "the agents of this part have ended"}
	case stop != nil && stop.Status == Cancelled:
		return Closing{Status: Cancelled, Reason: stop.Reason}
	case budget != "":
		return Closing{Status: OverBudget, Reason: budget}
	case limits.overIterations() && stuck < left:
		return Closing{Status: OverIterations, Reason: fmt.Sprintf("%s begun, the limit is %d",
			Count(limits.begun(), "state execution"), options.MaxIterations)}
	case p.Hold != "":
		return Closing{Status: Suspended, Reason: p.Hold, Until: p.Until}
	case stop != nil && stuck+waiting < left:
		return Closing{Status: stop.Status, Reason: stop.Reason, Until: stop.Until, Continuing: p.continuing(stop.Continuations)}
	case waiting > 0 && (stuck == 0 || options.KeepGoing):
		return Closing{Status: Suspended, Reason: s.waits(), Until: s.earliest(func(*WaitCondition) bool { return true })}
	}
	for a := range s.members() {
		if a.Failure != nil {
			return Closing{Status: Failed, Reason: reasonOf(a, a.Failure.Message, a.Exec.lastVerdict())}
		}
	}
	return Closing{Status: Failed}
}

// continuing decides whether a run that is suspended by a deadline is continued by the
// step itself, which may do that most times in a row.
func (p *Progress) continuing(most int) Continuation {
	switch {
	case most == 0:
		return ""
	case !p.HasProgress:
		return NoProgress
	case p.Continuations >= most:
		return TooOften
	}
	return Continues
}

// maxNamed is how many waits the reason of a suspended run names.
const maxNamed = 3

// waits says who waits for what. Agents that wait for others are left out: what these
// wait for is named.
func (s *Step) waits() string {
	var named []string
	for a := range s.members() {
		if w := a.Waits; w != nil && w.For != ForAgents {
			named = append(named, a.ID+" "+w.words())
		}
	}
	if more := len(named) - maxNamed; more > 0 {
		named = append(named[:maxNamed], fmt.Sprintf("and %d more", more))
	}
	if len(named) == 0 {
		return "agents wait for those that they have forked"
	}
	return strings.Join(named, ", ")
}

// Close ends the run, or this part of it, as c says.
func (s *Step) Close(c Closing) {
	p := &s.delta.Progress
	p.Status, p.Reason, p.Until, p.Hold, p.Continuing = c.Status, c.Reason, c.Until, "", c.Continuing
	if c.Continuing == Continues {
		p.Continuations++
	}
	limits := s.limits()
	// A state that cost much told it when it was booked, which may be in this step.
	told := slices.ContainsFunc(s.delta.Events, func(e Event) bool {
		b, ok := e.Body.(*Limit)
		return ok && b.Which == budgetOfRun
	})
	if c := limits.reached(); c != nil && (!told || c.Which != budgetOfRun) {
		s.tell(nil, limits.event(c))
	}
	if limits.progress.Status == OverIterations {
		s.tell(nil, &Limit{Which: "iterations", Value: float64(limits.begun()), Max: float64(limits.options.MaxIterations)})
	}
	brought := func(e Ending) bool { return e.Error == "" } // a result
	outcome, detail := outcomeOf(p, slices.ContainsFunc(s.run.Ended, brought) || slices.ContainsFunc(s.delta.Ended, brought))
	done := &RunFinished{
		Status: p.Status, Outcome: outcome, Detail: detail, Reason: p.Reason,
		Spent: s.ledger().spent(), InheritedUSD: s.run.InheritedUSD, Unfinished: unfinished(s.Agents()),
		Iterations: p.Iterations - s.run.RerunOf.before(), FlakeRetries: p.FlakeRetries, DurationMS: max(0, s.now.Sub(p.Started).Milliseconds()),
	}
	if text, ok := s.result(); ok {
		done.Result = &text
	}
	s.tell(nil, done)
}

// outcomeOf names the end of a run for people. A completed run is clean, or clean with
// a flake when a state was done only after a failed attempt. A failed run is partial
// when some agents brought a result.
func outcomeOf(p *Progress, someResults bool) (outcome, detail string) {
	switch p.Status {
	case Completed:
		if p.FlakeRetries > 0 {
			return "clean_with_flake", ""
		}
		return "clean", ""
	case Failed:
		if someResults {
			return "failed", "partial"
		}
		return "failed", "catastrophic"
	default:
		return string(p.Status), ""
	}
}
