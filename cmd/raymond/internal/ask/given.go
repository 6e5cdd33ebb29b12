package ask

import (
	"errors"
	"fmt"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// maxFile bounds --answer-file, in bytes: what an agent CLI takes as a prompt.
const maxFile = 10 << 20

// by is who has answered, as events say it.
const by = "cli"

// The flags.
const (
	textFlag = "answer"
	fileFlag = "answer-file"
)

// FlagAnswers are the answers of flags. Which questions they answer is decided by Match.
type FlagAnswers []given

// given is the value of one flag.
type given struct{ flag, value string }

// AddFlags defines the flags of answers.
func (g *FlagAnswers) AddFlags(o *options.Options) {
	add := func(flag string) func(string) error {
		return func(value string) error {
			*g = append(*g, given{flag, value})
			return nil
		}
	}
	o.Add(textFlag, "[AGENT=]TEXT", "answer to the open question, or to that of an agent (repeatable)", add(textFlag))
	o.Add(fileFlag, "[AGENT=]FILE", "the same, read from a file; a line break at its end is dropped (repeatable)", add(fileFlag))
}

// Match finds the question that each answer is to. Its error, of class usage, lists the
// open questions.
func (g FlagAnswers) Match(run *state.Run) ([]runner.QuestionUpdate, error) {
	if len(g) == 0 {
		return nil, nil
	}
	open := run.OpenQuestions()
	var updates []runner.QuestionUpdate
	var errs []error
	answered := map[string]bool{}
	for _, one := range g {
		agent, rest, err := one.addressee(open)
		var text string
		if err == nil {
			text, err = one.text(agent, rest)
		}
		if err == nil && answered[agent.ID] {
			err = fmt.Errorf("the question of %s is answered twice", agent.ID)
		}
		if err != nil {
			errs = append(errs, problem.Usage("--"+one.flag, err.Error(), listed(open)))
			continue
		}
		answered[agent.ID] = true
		updates = append(updates, runner.QuestionUpdate{Agent: agent.ID, Number: agent.Waits.Question.Number, Answer: &state.Answer{Text: text, By: by}})
	}
	return updates, errors.Join(errs...)
}

// addressee returns the agent whose question is answered, and what remains of the flag's
// value without its name.
func (g given) addressee(open []*state.Agent) (agent *state.Agent, rest string, err error) {
	name, rest, isNamed := strings.Cut(g.value, "=")
	for _, a := range open {
		if isNamed && a.ID == name {
			return a, rest, nil
		}
	}
	switch len(open) {
	case 0:
		return nil, "", fmt.Errorf("%q: the run has no open question", problem.Shorten(g.value))
	case 1:
		return open[0], g.value, nil
	}
	return nil, "", fmt.Errorf("%q: %d questions are open, and the answer doesn't begin with AGENT= of one of them", problem.Shorten(g.value), len(open))
}

// text is what is answered to the question of an agent.
func (g given) text(agent *state.Agent, value string) (string, error) {
	text := value
	if g.flag == fileFlag {
		data, err := files.ReadTarget(value, maxFile)
		if err != nil {
			return "", fmt.Errorf("%q: %w", problem.Shorten(value), err)
		}
		text = withoutBreak(string(data))
	}
	chosen, fits := agent.Waits.Question.MatchAnswer(text)
	if !fits {
		return "", fmt.Errorf("%q is none of the choices of %s", problem.Shorten(text), agent.ID)
	}
	return chosen, nil
}

// withoutBreak is a text without the line break at its end.
func withoutBreak(s string) string {
	return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")
}

// listed says which questions are open; "" for none.
func listed(open []*state.Agent) string {
	var parts []string
	for _, a := range open {
		q := a.Waits.Question
		part := fmt.Sprintf("%s asks %q", a.ID, problem.Shorten(string(q.Text)))
		if len(q.Choices) > 0 {
			part += " (" + strings.Join(q.Choices, ", ") + ")"
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return ""
	}
	return "open: " + strings.Join(parts, "; ")
}
