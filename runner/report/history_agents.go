package report

import (
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/state"
)

const (
	widestMove     = 120  // columns of a transition
	widestIncident = 300  // of a line on a retry, a reminder and the like, or on what an agent said
	widestRefused  = 200  // of a refused tool use
	widestSetting  = 1200 // of the setting that would allow it, which is useless when cut
)

// agentStatus is how an agent is doing.
type agentStatus int

const (
	isWorking agentStatus = iota
	hasResult
	hasNoResult
	hasFailed
	isWaiting
)

// agent is what a summary knows about an agent.
type agent struct {
	id, parent string
	state      string
	status     agentStatus
	runs       int
	last       *execution // the newest
	costs      agentCosts
	failure    failure
	result     passage
	move       string
	said       recent[string]
	incidents  recent[string]
	tools      toolUses
	verdicts   verdicts
}

// failure is why an agent failed.
type failure struct {
	text    passage
	outputs outputs // of its last state, a script
}

// agents are the agents of a run, in the order in which they came.
type agents struct {
	all    []*agent
	byID   map[string]*agent
	others int // beyond maxAgents
}

// of returns the agent of an event. If there are too many agents, nothing keeps it.
func (as *agents) of(e state.Event) *agent {
	if a, ok := as.byID[e.Agent]; ok {
		return a
	}
	a := &agent{
		id: e.Agent, state: e.State, costs: agentCosts{byModel: modelCosts{}},
		said: recent[string]{limit: maxSaid}, incidents: recent[string]{limit: maxIncidents}, tools: toolUses{used: map[string]int{}},
		verdicts: verdicts{recent: recent[*verdict]{limit: maxVerdicts}},
	}
	if len(as.all) < maxAgents {
		as.all = append(as.all, a)
		as.byID[e.Agent] = a
	} else if _, isStart := e.Body.(*state.AgentStarted); isStart {
		as.others++
	}
	return a
}

// failed returns the agents that failed.
func (as *agents) failed() []*agent {
	var all []*agent
	for _, a := range as.all {
		if a.status == hasFailed {
			all = append(all, a)
		}
	}
	return all
}

// restartFailed notes that a resumed run tries failed agents again.
func (as *agents) restartFailed() {
	for _, a := range as.failed() {
		a.status, a.failure, a.verdicts.areCurrent = isWorking, failure{}, false
	}
}

// unfinished returns the costs of executions that did not end, of all agents.
func (as *agents) unfinished() []*unfinished {
	var all []*unfinished
	for _, a := range as.all {
		if a.costs.unfinished != nil {
			all = append(all, a.costs.unfinished)
		}
	}
	return all
}

func (a *agent) fail(e state.Event, text string) {
	a.state, a.status = e.State, hasFailed
	a.failure.text = newPassage(ErrorLines(a.failure.outputs.without(text)), maxText)
}

func (a *agent) finish(e state.Event, b *state.AgentFinished) {
	switch {
	case b.Error != "":
		a.fail(e, b.Error)
	case b.Result == nil:
		a.status = hasNoResult
	default:
		a.status, a.result = hasResult, newPassage(string(*b.Result), maxText)
	}
}

func (a *agent) moveTo(b *state.Transition) {
	a.move = cut(moveText(b), widestMove)
	if b.Target != "" && b.Tag != "fork" {
		a.state = b.Target
	}
}

// note keeps what an agent said, its verdicts, and its incidents.
func (a *agent) note(e state.Event, body state.Body) {
	text := ""
	switch b := body.(type) {
	case *state.AgentOutput:
		a.say(b.Text)
	case *state.NodeAttempt:
		a.verdicts.note(e.State, b)
	case *state.Reminder:
		text = fmt.Sprintf("reminder %d: %s", b.N, brief(b.Reason))
	case *state.Retry:
		text = "retry " + brief(retryText(b))
	case *state.AttemptInterrupted:
		text = fmt.Sprintf("attempt %d was interrupted: %s", b.Attempt, brief(b.Reason))
	case *state.Limit:
		text = brief(limitLine(line{}, b).text)
	}
	if text != "" {
		a.incidents.add(cut(e.State, widestName) + ": " + text)
	}
}

// endWait notes that the agent no longer waits, and why.
func (a *agent) endWait(e state.Event, by string, w Wait) {
	a.state, a.status = e.State, isWorking
	text := brief(w.endText(by))
	if !w.Since.IsZero() {
		text += ", after a wait of " + span(e.Time.Sub(w.Since))
	}
	a.incidents.add(cut(e.State, widestName) + ": " + text)
}

// brief returns a line of an agent's section. Its end may matter as much as its
// beginning, as in an error.
func brief(text string) string { return cutMiddle(text, widestIncident) }

// say keeps a line that an agent said, and counts the tool when it used one.
func (a *agent) say(s string) {
	if m := toolUse().FindStringSubmatch(s); m != nil && len(m[1]) <= widestName {
		a.tools.use(m[1])
		return
	}
	a.said.add(cut(text.Before(s, 8*widestIncident), widestIncident))
}

// toolUse matches the use of a tool, as a backend reports it: the name of the tool, and
// in parentheses the input that says most. Ordinary words of an agent come in the same
// events, and they may look like name(text) too.
var toolUse = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^([A-Z][A-Za-z0-9_-]*|mcp__[A-Za-z0-9_-]*)\(.*\)$`)
})

// recent keeps the last of many things.
type recent[T any] struct {
	limit   int
	all     []T
	earlier int // number of things before those
}

func (r *recent[T]) add(one T) {
	if len(r.all) == r.limit {
		r.all = slices.Delete(r.all, 0, 1)
		r.earlier++
	}
	r.all = append(r.all, one)
}

// toolUses are the tools that an agent used, and the uses that it was refused.
type toolUses struct {
	used     map[string]int
	refused  []state.Refusal // each once
	unlisted int             // refused uses beyond maxRefused
}

func (t *toolUses) use(tool string) {
	if _, known := t.used[tool]; known || len(t.used) < maxTools {
		t.used[tool]++
	}
}

func (t *toolUses) refuse(all []state.Refusal) {
	for _, r := range all {
		switch {
		case slices.ContainsFunc(t.refused, func(x state.Refusal) bool { return x.Use == r.Use }):
		case len(t.refused) == maxRefused:
			t.unlisted++
		default:
			t.refused = append(t.refused, r)
		}
	}
}
