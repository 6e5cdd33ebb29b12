package insight

import (
	"fmt"
	"slices"
)

// The limits of a report. What texts take is measured where they are shown, so that a page
// with all of them stays below 15 MB.
const (
	mostInPage    = 12 << 20
	mostExecs     = 5000
	mostAgents    = 5000
	mostWaits     = 5000
	mostLimits    = 1000
	mostMoments   = 30  // reminders and the like of an execution
	mostAttempts  = 100 // of an execution
	mostRefusals  = 50
	perExec       = 1200 // bytes for a bar and a section without texts
	perAgent      = 400
	leastMessages = 2 << 20

	sharedResults = 1 << 20 // for the results, the errors and the variables of agents, each
	sharedErrors  = 1 << 20 // for the errors of executions
	sharedBulk    = 2 << 20 // for outputs of commands and the like
	mostBulk      = 128 << 10
)

// bound leaves out what is too much, and returns how many bytes are left for files and
// messages.
func bound(r *Report) int {
	boundLists(r)
	r.Result = short(r.Result, 64<<10)
	boundVars(r.Meta, 16<<10)
	share := func(all, n, most int) int { return max(200, min(most, all/max(1, n))) }
	used := len(r.Executions)*perExec + len(r.Agents)*perAgent
	each := share(sharedResults, len(r.Agents), 16<<10)
	for i := range r.Agents {
		a := &r.Agents[i]
		a.Result, a.Error = short(a.Result, each), short(a.Error, each)
		boundVars(a.Vars, each)
		used += cost(a.Result) + cost(a.Error) + costOfVars(a.Vars)
	}
	for i := range r.Waits {
		w := &r.Waits[i]
		w.Question, w.Answer = short(w.Question, each), short(w.Answer, each)
		used += cost(w.Question) + cost(w.Answer) + perAgent
	}
	each = share(sharedErrors, len(r.Executions), 8<<10)
	bulk, cutOff := sharedBulk, 0
	for _, x := range byInterest(r.Executions) {
		x.Error = short(x.Error, each)
		n := x.boundBulk(min(bulk, mostBulk))
		bulk -= n
		used += n + cost(x.Error)
		if x.IsCut {
			cutOff++
		}
	}
	if cutOff > 0 {
		r.leaveOut("Of %d state executions some output of commands or lines of progress are left out.", cutOff)
	}
	return max(leastMessages, mostInPage-used)
}

// leaveOut says what is not in the report.
func (r *Report) leaveOut(format string, args ...any) {
	r.LeftOut = append(r.LeftOut, fmt.Sprintf(format, args...))
}

// boundLists keeps the executions that failed and the newest ones, and what belongs to them.
func boundLists(r *Report) {
	if all := len(r.Executions); all > mostExecs {
		keep := map[int]bool{}
		for _, x := range byInterest(r.Executions)[:mostExecs] {
			keep[x.N] = true
		}
		r.Executions = slices.DeleteFunc(r.Executions, func(x Exec) bool { return !keep[x.N] })
		r.leaveOut("%d of %d state executions are here: those that failed and the newest. The sums are of all.", mostExecs, all)
	}
	if all := len(r.Agents); all > mostAgents {
		at := map[string]bool{}
		for i := range r.Executions {
			at[r.Executions[i].Agent] = true
		}
		isFirst := true
		r.Agents = slices.DeleteFunc(r.Agents, func(a Agent) bool {
			was := isFirst
			isFirst = false
			return !was && !at[a.ID] && a.Status != Failed
		})
		r.Agents = r.Agents[:min(len(r.Agents), mostAgents)]
		r.leaveOut("%d of %d agents are here.", len(r.Agents), all)
	}
	if all := len(r.Waits); all > mostWaits {
		r.Waits = r.Waits[all-mostWaits:]
		r.leaveOut("The last %d of %d waits are here.", mostWaits, all)
	}
	if all := len(r.Limits); all > mostLimits {
		r.Limits = r.Limits[all-mostLimits:]
		r.leaveOut("The last %d of %d messages on limits are here.", mostLimits, all)
	}
	r.Costs.ByAgent = r.Costs.ByAgent[:min(len(r.Costs.ByAgent), mostAgents)]
	r.Costs.ByState = r.Costs.ByState[:min(len(r.Costs.ByState), mostLimits)]
	r.Costs.ByModel = r.Costs.ByModel[:min(len(r.Costs.ByModel), mostLimits)]
}

// boundBulk shortens the texts of an execution that may be long to what there is room for,
// and returns what they take.
func (x *Exec) boundBulk(most int) int {
	for _, list := range []*[]Moment{&x.Reminders, &x.Retries, &x.Interruptions} {
		if extra := len(*list) - mostMoments; extra > 0 {
			*list, x.IsCut = (*list)[extra:], true
		}
		for i := range *list {
			m := &(*list)[i]
			m.Text = short(m.Text, 2<<10)
		}
	}
	if extra := len(x.Attempts) - mostAttempts; extra > 0 {
		x.Attempts, x.IsCut = x.Attempts[extra:], true
	}
	x.Refusals = x.Refusals[:min(len(x.Refusals), mostRefusals)]
	n := x.costOfBulk()
	if n <= most {
		return n
	}
	x.dropTexts()
	if n = x.costOfBulk(); n <= most {
		return n
	}
	x.Reminders, x.Retries, x.Interruptions, x.Attempts, x.Refusals, x.IsCut = nil, nil, nil, nil, nil, true
	return 0
}

// costOfBulk is what the texts take that may be long.
func (x *Exec) costOfBulk() int {
	n := cost(x.Stdout) + cost(x.Stderr)
	for _, line := range x.Output {
		n += cost(line) + 30
	}
	for _, list := range [][]Moment{x.Reminders, x.Retries, x.Interruptions} {
		for _, m := range list {
			n += cost(m.Text) + 100
		}
	}
	for _, a := range x.Attempts {
		n += cost(a.Reason) + 300
		for _, result := range a.Results {
			n += cost(result.Cmd) + cost(result.Tail) + 100
		}
	}
	for _, refusal := range x.Refusals {
		n += cost(refusal.Use) + cost(refusal.Reason) + 100
		for _, rule := range refusal.Allow {
			n += cost(rule)
		}
	}
	return n
}

// boundVars shortens variables.
func boundVars(vars map[string]string, most int) {
	each := max(100, most/max(1, len(vars)))
	for name, value := range vars {
		vars[name] = short(value, each)
	}
}

func costOfVars(vars map[string]string) int {
	n := 0
	for name, value := range vars {
		n += cost(name) + cost(value) + 50
	}
	return n
}
