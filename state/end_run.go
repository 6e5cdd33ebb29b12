package state

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// Stop is a request from outside the run to end it early: a cancel or a deadline.
type Stop struct {
	Status Status // Cancelled or Suspended
	Reason string
	Until  time.Time // when to resume; zero means at any time
	// Continuations is how many times in a row the action may start its workflow again after a
	// deadline. If it is 0, the action never does.
	Continuations int
}

// Closing describes how a run, or the current segment of a run, ends.
type Closing struct {
	Status Status    // never Running
	Reason string    // why the status is not Completed
	Until  time.Time // Suspended: when to resume; zero means at any time
	// Continuing is set if a deadline suspends the run while agents could continue, and if
	// Stop.Continuations is not 0.
	Continuing Continuation
}

// AsFailed returns a Closing that fails the run. It is used in place of c if c suspends a run that could
// not be resumed later. why is the reason why the run could not be resumed.
func (c Closing) AsFailed(why error) Closing {
	return Closing{Status: Failed, Reason: "the run would be suspended (" + c.Reason + "), but could not be resumed: " + why.Error()}
}

// Closing decides how the run ends. Call it only in a step in which no process is running or can
// start. stop is nil if nothing requested an early end.
func (s *Step) Closing(stop *Stop) Closing {
	if count(s.Agents(), isAny) == 0 {
		return Closing{Status: Completed}
	}
	waits := func(a *Agent) bool { return a.Status == Waiting }
	left, stuck, waiting := count(s.members(), isAny), count(s.members(), isStuck), count(s.members(), waits)
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
			Count(limits.ownExecutions(), "state execution"), options.MaxIterations)}
	case p.Hold != "":
		return Closing{Status: Suspended, Reason: p.Hold, Until: p.Until}
	case stop != nil && stuck+waiting < left:
		c := Closing{Status: stop.Status, Reason: stop.Reason, Until: stop.Until}
		switch {
		case stop.Continuations == 0: // the action never starts its workflow again
		case !p.HasProgress:
			c.Continuing = NoProgress
		case p.Continuations >= stop.Continuations:
			c.Continuing = TooOften
		default:
			c.Continuing = Continues
		}
		return c
	case waiting > 0 && (stuck == 0 || options.KeepGoing):
		return Closing{Status: Suspended, Reason: describeWaits(s.members()), Until: firstEnd(s.members(), func(*WaitCondition) bool { return true })}
	}
	for a := range s.members() {
		if a.Failure != nil {
			return Closing{Status: Failed, Reason: reasonOf(a, a.Failure.Message)}
		}
	}
	return Closing{Status: Failed}
}

// maxNamed is the maximum number of waits that the reason for a suspension lists.
const maxNamed = 3

// describeWaits lists at most maxNamed waiting agents and their waits, and counts further ones. It ignores
// agents that wait for other agents, because it lists the waits of these other agents.
func describeWaits(agents iter.Seq[*Agent]) string {
	var named []string
	for a := range agents {
		if w := a.Waits; w != nil && w.For != ForAgents {
			named = append(named, a.ID+" waits "+w.event().Reason())
		}
	}
	if more := len(named) - maxNamed; more > 0 {
		named = append(named[:maxNamed], fmt.Sprintf("and %d more", more))
	}
	if len(named) == 0 {
		return "agents wait for the agents that they forked"
	}
	return strings.Join(named, ", ")
}

// Close ends the run, or the current segment of the run, as c specifies, and emits RunFinished.
func (s *Step) Close(c Closing) {
	p := &s.delta.Progress
	p.Status, p.Reason, p.Until, p.Hold, p.Continuing = c.Status, c.Reason, c.Until, "", c.Continuing
	if c.Continuing == Continues {
		p.Continuations++
	}
	limits := s.limits()
	// This step may already contain the event about the run's own budget.
	isReported := slices.ContainsFunc(s.delta.Events, func(e Event) bool {
		b, ok := e.Body.(*Limit)
		return ok && b.Which == budgetOfRun
	})
	if c := limits.reached(); c != nil && (!isReported || c.Which != budgetOfRun) {
		s.emit(nil, limits.event(c))
	}
	if limits.progress.Status == OverIterations {
		s.emit(nil, &Limit{Which: "iterations", Value: float64(limits.ownExecutions()), Max: float64(limits.options.MaxIterations)})
	}
	var result *Text // of the main agent
	someResults := false
	for e := range s.ended() {
		someResults = someResults || e.Error == ""
		if e.Agent == mainAgent {
			result = &e.Result
		}
	}
	done := &RunFinished{
		Status: p.Status, Outcome: string(p.Status), Reason: p.Reason,
		Spent: s.ledger().spent(), InheritedUSD: s.run.InheritedUSD, Unfinished: unfinished(s.Agents()),
		Iterations: limits.ownExecutions(), FlakeRetries: p.FlakeRetries, DurationMS: max(0, s.now.Sub(p.Started).Milliseconds()),
		Result: result,
	}
	switch {
	case p.Status == Completed && p.FlakeRetries > 0:
		done.Outcome = "clean_with_flake"
	case p.Status == Completed:
		done.Outcome = "clean"
	case p.Status == Failed && someResults:
		done.Detail = "partial"
	case p.Status == Failed:
		done.Detail = "catastrophic"
	}
	s.emit(nil, done)
}
