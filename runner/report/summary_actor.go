package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

const (
	widestMove    = 120  // columns of a transition
	widestTrouble = 300  // of a line on what an agent stumbled over, or said
	widestRefused = 200  // of a refused tool use
	widestSetting = 1200 // of what would allow it, which is of no use when it is cut
)

// refuse keeps refused tool uses, each once.
func (a *actor) refuse(all []state.Refusal) {
	for _, r := range all {
		switch {
		case slices.ContainsFunc(a.refused, func(x state.Refusal) bool { return x.Use == r.Use }):
		case len(a.refused) == mostRefused:
			a.unlisted++
		default:
			a.refused = append(a.refused, r)
		}
	}
}

func (a *actor) fail(e state.Event, fault string) {
	a.state, a.standing, a.fault = e.State, hasFailed, keep(Unfold(a.outputs.without(fault)), mostText)
}

func (a *actor) finish(e state.Event, b *state.AgentFinished) {
	switch {
	case b.Error != "":
		a.fail(e, b.Error)
	case b.Result == nil:
		a.standing = hasNoResult
	default:
		a.standing, a.result = hasResult, keep(string(*b.Result), mostText)
	}
}

// stumble keeps what an agent said and what it stumbled over.
func (a *actor) stumble(e state.Event) {
	at := cut(e.State, widestName) + ": "
	switch b := e.Body.(type) {
	case *state.AgentOutput:
		a.say(b.Text)
	case *state.Reminder:
		a.note(at + fmt.Sprintf("reminder %d: %s", b.N, brief(b.Reason)))
	case *state.Retry:
		a.note(at + "retry " + brief(retryText(b)))
	case *state.NodeAttempt:
		a.judge(e, b)
	case *state.AttemptInterrupted:
		a.note(at + fmt.Sprintf("attempt %d was interrupted: %s", b.Attempt, brief(b.Reason)))
	case *state.Limit:
		a.note(at + brief(limitLine(line{}, b).text))
	}
}

// brief is a line of an agent's section. Its end may matter as much as its
// beginning, as that of an error.
func brief(text string) string { return cutMiddle(ends(text, 4*widestTrouble), widestTrouble) }

func (a *actor) note(text string) {
	if len(a.trouble) == mostTrouble {
		a.trouble = slices.Delete(a.trouble, 0, 1)
		a.untold++
	}
	a.trouble = append(a.trouble, text)
}

// say keeps a line that an agent said, and counts the tool when it used one.
func (a *actor) say(text string) {
	tool, _, ok := toolUse(text)
	if !ok || !isTool(tool) {
		if len(a.said) == mostSaid {
			a.said = slices.Delete(a.said, 0, 1)
		}
		a.said = append(a.said, cut(before(text, 8*widestTrouble), widestTrouble))
		return
	}
	if _, known := a.tools[tool]; known || len(a.tools) < mostTools {
		a.tools[tool]++
	}
}

// isTool reports whether a name is one of a tool. Output has what an agent says
// in the same place, where name(text) may stand for anything.
func isTool(name string) bool {
	return name[0] >= 'A' && name[0] <= 'Z' || strings.HasPrefix(name, "mcp__")
}
