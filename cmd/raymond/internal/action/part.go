package action

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/state"
)

// findPart finds where the part that the step runs begins: where its agents wait in the run itself,
// or where an earlier job of this part has left it.
func findPart(ctx context.Context, s *step, l lookup, facts slots.Facts) (lookup, error) {
	own := state.NewPart(l.was.Agents, s.in.Part, s.options.Jobs)
	if len(own.Agents) == 0 {
		s.log.notice(fmt.Sprintf("nothing to do: none of the agents %s still waits for the job %s", strings.Join(s.in.Part, ", "), strings.Join(s.options.Jobs, ", ")))
		return l, errDone
	}
	facts.Mode = l.was.WorkflowID // a part continues however the run has ended
	if err := l.take(s.log, slots.Decide(l.manifest, facts), resumes); err != nil || l.was == nil {
		return l, err
	}
	found, err := s.stored.finder.Parts(ctx, partsQuery(s, l.found, []state.Part{own}))
	if err != nil {
		return l, err
	}
	if err := s.note.change(func(d *noteData) { d.Part = &own }); err != nil {
		return l, err
	}
	if all := found[0].All; len(all) > 0 && (len(all[0].Manifest.Missing()) == 0 || s.in.ResumeWithoutTranscript) {
		for _, older := range all[1:] {
			older.Remove()
		}
		return continuePart(s.log, &own, l, all[0])
	}
	found[0].Remove()
	l.was = own.NewRun(l.was)
	return l, nil
}

// partsQuery returns a query for the given parts of a run.
func partsQuery(s *step, base *slots.Found, parts []state.Part) slots.PartsQuery {
	return slots.PartsQuery{Query: s.query(), Base: base, Parts: parts, Deadline: s.options.Deadline, Now: time.Now()}
}

// hasParts reports whether jobs of a matrix may have stored results for the run. If this can't be
// determined, it reports true, and joining the parts reports the cause.
func hasParts(ctx context.Context, s *step, l lookup) bool {
	if s.part() != nil || !l.isStored() || len(l.was.Parts) == 0 {
		return false
	}
	stored, err := s.stored.finder.HasParts(ctx, partsQuery(s, l.found, l.was.Parts))
	return stored || err != nil
}

// continuePart makes the step continue from the checkpoint of an earlier job of its part.
func continuePart(log *jobLog, part *state.Part, l lookup, own *slots.Found) (lookup, error) {
	run, err := readState(own)
	if err == nil {
		err = part.Check(l.was, run)
	}
	if err != nil {
		return l, err
	}
	l.found.Remove()
	if l.found, l.was, l.manifest = own, run, own.Manifest; run.Progress.Status == state.Completed {
		log.notice("nothing to do: an earlier attempt has completed this part")
		return l, errDone
	}
	return l, nil
}

// shareOf returns the budget of a part: its share of the run's budget when the part begins, and the
// same share, if it is still within the budget, when the part continues.
func shareOf(b *readyRun, budget state.USD) state.USD {
	run := b.run
	if own, _ := run.Parts.OwnPart(); b.manifest.Part == nil {
		return own.BudgetShare(budget, run.Progress.TotalUSD, run.Agents)
	}
	share := run.Options.BudgetUSD
	if budget == 0 || share == 0 {
		return budget
	}
	return min(share, budget)
}

// agentsOf returns the names of the agents of a part, or nil for the whole run.
func agentsOf(p *state.Part) (names []string) {
	if p == nil {
		return nil
	}
	for _, a := range p.Agents {
		names = append(names, a.Agent)
	}
	return names
}
