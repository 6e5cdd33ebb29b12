package ask

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/report"
)

// maxText is the maximum length of a question in a comment, in bytes. GitHub accepts 65,536
// characters per comment.
const maxText = 50_000

// maxHunk is the maximum length of the diff hunk above a line comment's answer, in bytes.
const maxHunk = 8_000

// questionBody returns the text of the comment that asks q. While q is open, end is empty. Afterwards,
// end says how q was answered, and replaces the instructions for answering.
func (o *Options) questionBody(q *question, end string) string {
	p := o.Ref
	p.Token, p.Number = q.Token, q.Number
	lines := []string{
		p.mark(), fmt.Sprintf("**Question %d** of the run %s:", q.Number, code(p.Run)), "",
		text.Fence(text.Truncate(text.Printable(o.Redact(string(q.Text))), maxText), "text"),
	}
	if end != "" {
		lines = append(lines, end, answeredMark)
	} else {
		lines = append(lines, o.answerHelp(q)...)
	}
	if o.Link != "" {
		lines = append(lines, "", o.Link)
	}
	return strings.Join(lines, "\n")
}

// answerHelp returns the lines that explain how to answer a question, with examples to copy.
func (o *Options) answerHelp(q *question) []string {
	named := fmt.Sprintf("%s %d", o.Prefix, q.Number)
	lines := []string{fmt.Sprintf("To answer, write a comment here that begins with %s, as in %s.", code(o.Prefix), code(o.Prefix+" your answer"))}
	example := code(named + " your answer")
	if len(q.Choices) > 0 {
		lines = slices.Concat([]string{"To answer, write a comment here with one of these:", ""}, o.choices(q), []string{""})
		example = code(named + " " + o.Redact(q.Choices[0]))
	}
	lines = append(lines, fmt.Sprintf("While several questions of this run are open, name this one: %s.", example),
		fmt.Sprintf("The state %s follows.", code(q.next)))
	if len(q.From) > 0 {
		from := slices.Clone(q.From)
		for i, name := range from {
			from[i] = code(name)
		}
		lines = append(lines, "It waits for an answer from "+report.JoinWords(from, "or")+".")
	}
	if !q.until.IsZero() {
		lines = append(lines, fmt.Sprintf("It waits until %s; then %s follows.", q.until.UTC().Format(time.RFC1123), code(q.TimeoutNext)))
	}
	return lines
}

// answeredText returns the line that says who answered a question.
func (o *Options) answeredText(q *question) string {
	if q.answer == nil {
		return "There was no answer in time, and the run has continued without one."
	}
	if len(q.Choices) > 0 {
		return fmt.Sprintf("%s has answered %s.", code(q.answer.By), code(o.Redact(q.answer.Text)))
	}
	return fmt.Sprintf("%s has answered.", code(q.answer.By))
}

// correction returns a reply to an answer that can't be accepted. The reply contains the reason why,
// and words, which list valid answers.
func correction(q *question, r job.Comment, why string, words []string) string {
	lines := []string{replyMark(q.Token, r.Name()), fmt.Sprintf("Thank you, %s. %s:", code(r.Author.Login), why), ""}
	return strings.Join(append(lines, words...), "\n")
}

// choices returns the accepted answers to a question as a Markdown list.
func (o *Options) choices(q *question) (list []string) {
	for _, c := range q.Choices {
		list = append(list, "- "+code(o.Prefix+" "+o.Redact(c)))
	}
	return list
}

// RejectionBody returns a comment that explains why an answer can't be accepted. mark is the result of
// RejectionMark.
func RejectionBody(mark, why string) string {
	return mark + "\nThis answer can't be used, because the run that asked can't continue:\n\n" + text.Fence(text.Printable(why), "text")
}

// RejectionMark returns the first line of the comment that rejects an answer to a question.
func RejectionMark(token string) string { return replyMark(token, "stuck") }

// code formats a text as a Markdown code span. No backtick in the text can close the span.
func code(s string) string { return text.Code(text.Brief(s, 200)) }

// onLine puts the file, the line and the diff hunk of a line comment before its text.
func onLine(r job.Comment, answer string) string {
	if r.Kind != job.LineComment || r.File == "" {
		return answer
	}
	where := "File " + text.WithoutHidden(text.Line(r.File))
	if r.Line > 0 {
		where += fmt.Sprintf(", line %d", r.Line)
	}
	if r.Hunk == "" {
		return where + ":\n\n" + answer
	}
	// An unclosed HTML comment in the diff must not hide the answer.
	return where + ":\n\n" + text.Fence(text.Suffix(text.WithoutHidden(r.Hunk), maxHunk), "diff") + "\n" + answer
}

// skew is the largest assumed difference between this machine's clock and the forge's.
const skew = 30 * time.Second

// openAt returns the questions that may have been open at the forge's time t, by number.
func openAt(asked []report.Wait, t time.Time) map[int]report.Wait {
	open := map[int]report.Wait{}
	for _, w := range asked {
		if !w.Since.After(t.Add(skew)) && (w.To.IsZero() || !w.To.Before(t.Add(-skew))) {
			open[w.Number] = w
		}
	}
	return open
}

// matchQuestion finds the question that the comment r answers, in the list here. It returns the question, or
// nil, and the answer without a leading question number. If r may answer several questions and names none of
// them, it returns all of them as the result several. A question counts if it was open when the comment was
// written, even if it has been answered since: "/raymond 1 yes" never answers question 2.
func matchQuestion(r job.Comment, text string, here []*question, open map[int]report.Wait) (to *question, answer string, several []*question) {
	numbers := map[int]*question{} // the questions that were open on any issue, by number; the value is nil for questions that are not in the list here
	for n := range open {
		numbers[n] = nil
	}
	var fits []*question
	for _, q := range here {
		if q.precedes(r) {
			fits = append(fits, q)
			numbers[q.Number] = q
		}
	}
	first, rest := firstWord(text)
	if n, err := strconv.Atoi(first); err == nil && len(numbers) > 1 {
		if q, isOpen := numbers[n]; isOpen {
			return q, rest, nil
		}
	}
	switch {
	case len(fits) == 0:
		return nil, "", nil
	case len(fits) > 1 || hadOtherQuestion(fits[0], open, r.Created):
		return nil, "", fits
	}
	return fits[0], text, nil
}

// hadOtherQuestion reports whether another question was open on q's issue at the given time, and has been
// closed since. open contains the questions that were open at that time.
func hadOtherQuestion(q *question, open map[int]report.Wait, at time.Time) bool {
	for number, w := range open {
		if number != q.Number && !w.To.IsZero() && w.To.After(at) && w.Where == q.Where {
			return true
		}
	}
	return false
}
