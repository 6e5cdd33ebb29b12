package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/state"
)

// DefaultPrefix is what the comment begins with that answers a question.
const DefaultPrefix = "/raymond"

const (
	anyAnswer  = "your answer" // stands for one in our own words
	maxChoices = 20            // that are listed
	maxAnswers = 3             // in one command
)

// AnswerLines returns the comments that answer a question: one for each of its choices,
// or one with a placeholder. Each is one line without backticks. number is that of the
// question if others are open too, else 0. A prefix "" is DefaultPrefix.
func AnswerLines(prefix string, number int, choices []string) []string {
	prefix = cmp.Or(prefix, DefaultPrefix)
	if number > 0 {
		prefix += fmt.Sprint(" ", number)
	}
	all := mayAnswer(choices)
	for i := range all {
		all[i] = prefix + " " + all[i]
	}
	return all
}

// mayAnswer returns the choices of a question that are listed, or a placeholder.
func mayAnswer(choices []string) []string {
	if len(choices) == 0 || slices.ContainsFunc(choices, isOdd) {
		return []string{anyAnswer}
	}
	return slices.Clone(choices[:min(len(choices), maxChoices)])
}

// isOdd reports whether a choice can't be shown as it has to be written.
func isOdd(choice string) bool {
	return choice == "" || plain(choice) != choice || strings.Contains(choice, "`") || columns(choice) > widestName
}

// waitHint says by which command a run is resumed that has stopped while agents wait.
func waitHint(command string, waits []Wait) string {
	var hints []string
	if open := questions(waits); len(open) > 0 {
		hints = append(hints, "to answer: "+command+answerFlags(open))
	}
	var names []string
	for _, of := range jobs(waits) {
		names = append(names, name(of[0].Job))
	}
	if len(names) > 0 {
		hints = append(hints, "to run what waits for a job: "+command+" --job "+strings.Join(names, ","))
	}
	if all := timed(waits); len(all) > 0 {
		hints = append(hints, "to resume from "+all[0].untilText()+" on: "+command)
	}
	if len(hints) == 0 {
		return "to resume: " + command
	}
	return strings.Join(hints, "; ")
}

// answerFlags returns the flags that answer questions, with what may be answered.
func answerFlags(open []Wait) string {
	if len(open) == 1 {
		all := mayAnswer(open[0].Choices)
		for i := range all {
			all[i] = quoted(all[i])
		}
		text := " --answer " + all[0]
		if others := all[1:]; len(others) > 0 {
			text += " (or " + strings.Join(others, ", ") + ")"
		}
		return text
	}
	text := ""
	for _, w := range open[:min(len(open), maxAnswers)] {
		answer := anyAnswer
		if len(w.Choices) > 0 && !isOdd(w.Choices[0]) {
			answer = w.Choices[0]
		}
		text += " --answer " + quoted(name(w.Agent)+"="+answer)
	}
	if more := len(open) - maxAnswers; more > 0 {
		text += fmt.Sprintf(" (and %s)", count(more, "more question"))
	}
	return text
}

// unquoted matches what a shell takes as it is.
var unquoted = text.Regexp(`^[A-Za-z0-9._=/-]+$`)

// quoted returns a word as a shell reads it.
func quoted(word string) string {
	if unquoted().MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// jobs returns the agents that wait for jobs, those of each job together, in the order of the agents.
func jobs(waits []Wait) [][]Wait {
	var all [][]Wait
	for _, w := range ofKind(waits, state.ForJob) {
		i := slices.IndexFunc(all, func(of []Wait) bool { return of[0].Job == w.Job })
		switch {
		case w.Job == "":
		case i < 0:
			all = append(all, []Wait{w})
		default:
			all[i] = append(all[i], w)
		}
	}
	return all
}
