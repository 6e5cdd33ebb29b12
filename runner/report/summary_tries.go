package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

const (
	mostTries   = 20 // attempts of an agent that are listed
	mostOutputs = 3  // of them, whose commands' output is shown
	mostOutput  = 4 << 10
)

// try is an attempt of a state that commands judge.
type try struct {
	state     string
	n         int
	isDone    bool
	durationS float64
	backoffS  float64
	cost      state.Spent
	reason    string
	command   string // the first that was not content
	exitCode  int
	others    int     // commands that were not content either
	output    passage // of the command, from its end
}

// judge keeps an attempt.
func (a *actor) judge(e state.Event, b *state.NodeAttempt) {
	t := &try{
		state: cut(e.State, widestCell), n: b.Attempt, isDone: b.Converged,
		durationS: b.DurationS, cost: b.Spent(), reason: brief(b.Reason),
	}
	if b.BackoffS != nil {
		t.backoffS = *b.BackoffS
	}
	for _, r := range b.Results {
		switch {
		case r.RC == 0:
		case t.command != "":
			t.others++
		default:
			t.command, t.exitCode, t.output = brief(r.Cmd), r.RC, keepEnd(r.Tail, mostOutput)
		}
	}
	a.attempt, a.isJudged = b.Attempt, true
	a.tries = append(a.tries, t)
	a.forgetTries()
}

// forgetTries keeps the last attempts, and the output of the last that failed.
func (a *actor) forgetTries() {
	if len(a.tries) > mostTries {
		a.tries = slices.Delete(a.tries, 0, 1)
		a.untried++
	}
	outputs := 0
	for _, t := range slices.Backward(a.tries) {
		if t.isDone {
			continue
		}
		if outputs++; outputs > mostOutputs {
			t.output = passage{}
		}
	}
}

// lastTry is the last attempt of the state that an agent failed in; nil when
// there is none that says why.
func (a *actor) lastTry() *try {
	if len(a.tries) == 0 || !a.isJudged {
		return nil
	}
	if t := a.tries[len(a.tries)-1]; !t.isDone {
		return t
	}
	return nil
}

// explain shows why an attempt is not done.
func (t *try) explain(b *strings.Builder, lines, most int) {
	if t.output.isEmpty() {
		fmt.Fprintf(b, "Its last attempt: %s\n\n", t.verdict())
		return
	}
	shown, _ := glimpse{p: t.output, lines: lines}.few(most)
	fmt.Fprintf(b, "Its last attempt: %s:\n\n%s\n", t.verdict(), fence(shown))
}

// verdict words what came of an attempt, in Markdown.
func (t *try) verdict() string {
	switch {
	case t.isDone && t.n > 1:
		return fmt.Sprintf("done at attempt %d", t.n)
	case t.isDone:
		return "done"
	case t.command == "":
		return codeSpan(t.reason)
	}
	text := fmt.Sprintf("%s ended with exit code %d", codeSpan(t.command), t.exitCode)
	if t.others > 0 {
		text += fmt.Sprintf(", and %s failed", count(t.others, "more command"))
	}
	return text
}

// attempts has a table of an agent's attempts, and what the commands wrote that
// were not content.
func (a *actor) attempts(b *strings.Builder, d diet) {
	shown := a.tries[max(0, len(a.tries)-d.lines):]
	if len(shown) == 0 {
		return
	}
	b.WriteString("Attempts, as its commands judged them:\n\n" +
		"| Attempt | State | Duration | Cost | Verdict |\n| ---: | --- | ---: | ---: | --- |\n")
	if before := a.untried + len(a.tries) - len(shown); before > 0 {
		fmt.Fprintf(b, "| … | %s before these | | | |\n", count(before, "attempt"))
	}
	for _, t := range shown {
		fmt.Fprintf(b, "| %d | %s | %s | %s | %s |\n", t.n, codeSpan(t.state), seconds(t.durationS), t.cost, t.verdict())
	}
	b.WriteString("\n")
	for _, t := range shown {
		if !t.output.isEmpty() && d.text > 0 {
			fmt.Fprintf(b, "Attempt %d in %s, the end of what %s wrote:\n\n%s\n",
				t.n, codeSpan(t.state), codeSpan(t.command), fence(t.output.lastBytes(d.text).String()))
		}
	}
}
