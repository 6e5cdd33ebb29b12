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

// maxFile is the maximum size of an --answer-file in bytes. Prompts have the same limit.
const maxFile = 10 << 20

// answeredBy is recorded in events as the author of answers from flags and from the terminal.
const answeredBy = "cli"

// The names of the flags.
const (
	textFlag = "answer"
	fileFlag = "answer-file"
)

// FlagAnswers are the answers that the user gave with flags. Match finds the question for each.
type FlagAnswers []flagAnswer

// flagAnswer is the value of one flag.
type flagAnswer struct{ flag, value string }

// AddFlags defines the flags for answers. Each use of a flag appends an answer to g.
func (g *FlagAnswers) AddFlags(o *options.Options) {
	add := func(flag string) func(string) error {
		return func(value string) error {
			*g = append(*g, flagAnswer{flag, value})
			return nil
		}
	}
	o.Add(textFlag, "[AGENT=]TEXT", "answer to the open question, or to the question of AGENT (repeatable)", add(textFlag))
	o.Add(fileFlag, "[AGENT=]FILE", "like --answer, but read from FILE, without a line break at its end (repeatable)", add(fileFlag))
}

// Match returns an update for each answer, with the question that it is for. If an answer matches no
// question, or two answers match the same one, it returns an error of class usage that lists the open
// questions.
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
			errs = append(errs, problem.Usage("--"+one.flag, err.Error(), listOpen(open)))
			continue
		}
		answered[agent.ID] = true
		updates = append(updates, runner.QuestionUpdate{Agent: agent.ID, Number: agent.Waits.Question.Number, Answer: &state.Answer{Text: text, By: answeredBy}})
	}
	return updates, errors.Join(errs...)
}

// addressee returns the agent whose question is answered, and the flag's value without a leading
// "AGENT=". Without that prefix, the answer is for the only open question.
func (g flagAnswer) addressee(open []*state.Agent) (agent *state.Agent, rest string, err error) {
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
	return nil, "", fmt.Errorf("%q: %d questions are open; begin the answer with AGENT= to choose one", problem.Shorten(g.value), len(open))
}

// text returns the answer to the agent's question. For --answer-file, that is the content of the file
// that value names. It returns an error if the question has choices and the answer does not match any choice.
func (g flagAnswer) text(agent *state.Agent, value string) (string, error) {
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
		return "", fmt.Errorf("%q is not one of the choices of %s", problem.Shorten(text), agent.ID)
	}
	return chosen, nil
}

// withoutBreak returns s without its final line break.
func withoutBreak(s string) string {
	return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")
}

// listOpen describes the open questions in one line. It returns "" if open is empty.
func listOpen(open []*state.Agent) string {
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
