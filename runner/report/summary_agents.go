package report

import (
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/state"
)

// The texts of agents are kept within limits, so that a summary stays small whatever the size
// of the run.
const (
	maxAgents    = 1000 // agents
	maxText      = 8 << 10
	maxResult    = 16 << 10
	maxRefused   = 50 // different refused tool uses of an agent
	maxTools     = 50 // different tools of an agent
	maxIncidents = 20 // retries, reminders and the like of an agent
	maxSaid      = 20 // lines of what an agent said last

	widestMove     = 120  // columns of a transition
	widestIncident = 300  // of a line on a retry, a reminder and the like, or on what an agent said
	widestRefused  = 200  // of a refused tool use
	widestSetting  = 1200 // of the setting that would allow it, which is useless when cut
)

// agent is an agent with the texts of its section in a summary.
type agent struct {
	*Agent
	said      recent[string]
	incidents recent[string]
	tools     toolUses
	verdicts  verdicts
}

func newAgent(a *Agent) *agent {
	return &agent{
		Agent: a, said: recent[string]{limit: maxSaid}, incidents: recent[string]{limit: maxIncidents},
		tools: toolUses{used: map[string]int{}}, verdicts: verdicts{recent[*verdict]{limit: maxVerdicts}},
	}
}

// why is the reason why the agent failed, without the outputs that are shown beside it.
func (a *agent) why() passage { return newPassage(ErrorLines(a.outputs.without(a.Error)), maxText) }

// note keeps what an agent said, its verdicts, its refused tools and its incidents. The wait is
// the one that the event has ended.
func (a *agent) note(e state.Event, ended Wait) {
	text := ""
	switch b := e.Body.(type) {
	case *state.AgentOutput:
		a.say(b.Text)
	case *state.NodeAttempt:
		a.verdicts.note(a.last, e.State, b)
	case *state.StateFinished:
		a.tools.refuse(b.Refused())
	case *state.Reminder:
		text = fmt.Sprintf("reminder %d: %s", b.N, brief(b.Reason))
	case *state.Retry:
		text = "retry " + brief(retryText(b))
	case *state.AttemptInterrupted:
		text = fmt.Sprintf("attempt %d was interrupted: %s", b.Attempt, brief(b.Reason))
	case *state.Limit:
		text = brief(limitLine(line{}, b).text)
	case *state.AgentGoesOn:
		text = brief(ended.endText(b.By))
		if !ended.Since.IsZero() {
			text += ", after a wait of " + Span(e.Time.Sub(ended.Since))
		}
	}
	if text != "" {
		a.incidents.add(cut(e.State, widestName) + ": " + text)
	}
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
