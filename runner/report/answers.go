package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/state"
)

// DefaultPrefix is the text at the start of comments that answer questions, if no other prefix is
// configured.
const DefaultPrefix = "/raymond"

const (
	answerPlaceholder = "your answer" // shown instead of an answer
	maxChoices        = 20            // choices that are listed for a question
	maxAnswers        = 3             // answers in one command
)

// AnswerLines returns the comments that answer a question: one for each of the first maxChoices
// choices. If the choices can't be listed, it returns a single comment with a placeholder. Each
// comment is one line without backticks. number is the number of the question, or 0 if no other
// question is open. An empty prefix means DefaultPrefix.
func AnswerLines(prefix string, number int, choices []string) []string {
	prefix = cmp.Or(prefix, DefaultPrefix)
	if number > 0 {
		prefix += fmt.Sprint(" ", number)
	}
	all := listedAnswers(choices)
	for i := range all {
		all[i] = prefix + " " + all[i]
	}
	return all
}

// listedAnswers returns the first maxChoices choices of a question. It returns a placeholder if the
// question has no choices, or if any choice can't be listed.
func listedAnswers(choices []string) []string {
	if len(choices) == 0 || slices.ContainsFunc(choices, isUnlistable) {
		return []string{answerPlaceholder}
	}
	return slices.Clone(choices[:min(len(choices), maxChoices)])
}

// isUnlistable reports whether a choice can't be shown exactly as the user must write it.
func isUnlistable(choice string) bool {
	return choice == "" || plain(choice) != choice || strings.Contains(choice, "`") || columns(choice) > widestName
}

// waitHint returns the ResumeHint for a run with waiting agents.
func waitHint(command string, waits []Wait) string {
	var hints []string
	if open := questions(waits); len(open) > 0 {
		hints = append(hints, "to answer: "+command+answerFlags(open))
	}
	var names []string
	for _, of := range groupByJob(waits) {
		names = append(names, name(of[0].Job))
	}
	if len(names) > 0 {
		hints = append(hints, "to run the states that wait for a job: "+command+" --job "+strings.Join(names, ","))
	}
	if all := timeWaits(waits); len(all) > 0 {
		hints = append(hints, "to resume from "+all[0].untilText()+" on: "+command)
	}
	if len(hints) == 0 {
		return "to resume: " + command
	}
	return strings.Join(hints, "; ")
}

// answerFlags returns command-line flags that answer the open questions. If there are many, only the
// first maxAnswers questions get a flag.
func answerFlags(open []Wait) string {
	if len(open) == 1 {
		all := listedAnswers(open[0].Choices)
		for i := range all {
			all[i] = shellQuoted(all[i])
		}
		text := " --answer " + all[0]
		if others := all[1:]; len(others) > 0 {
			text += " (or " + strings.Join(others, ", ") + ")"
		}
		return text
	}
	text := ""
	for _, w := range open[:min(len(open), maxAnswers)] {
		answer := answerPlaceholder
		if len(w.Choices) > 0 && !isUnlistable(w.Choices[0]) {
			answer = w.Choices[0]
		}
		text += " --answer " + shellQuoted(name(w.Agent)+"="+answer)
	}
	if more := len(open) - maxAnswers; more > 0 {
		text += fmt.Sprintf(" (and %s)", count(more, "more question"))
	}
	return text
}

// shellSafe matches words that need no quotes in a shell.
var shellSafe = text.Regexp(`^[A-Za-z0-9._=/-]+$`)

// shellQuoted quotes a word for a POSIX shell if necessary.
func shellQuoted(word string) string {
	if shellSafe().MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// groupByJob returns the waits for jobs, with one group for each job. The groups are in the order
// of their first waits.
func groupByJob(waits []Wait) [][]Wait {
	var all [][]Wait
	for _, w := range waitsOfKind(waits, state.ForJob) {
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
