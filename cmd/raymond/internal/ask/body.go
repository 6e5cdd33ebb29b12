package ask

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/report"
)

// maxText bounds what a comment shows of a question, in bytes. GitHub accepts 65,536
// characters.
const maxText = 50_000

// maxHunk bounds what an answer has of the diff before a comment on a line, in bytes.
const maxHunk = 8_000

// question is the comment that asks a question; end says how it was answered, "" as long
// as it is open.
func (o *Options) question(q *question, end string) string {
	p := o.Ref
	p.Token, p.Number = q.Token, q.Number
	lines := []string{
		p.mark(), fmt.Sprintf("**Question %d** of the run %s:", q.Number, code(p.Run)), "",
		text.Fence(text.Truncate(text.Printable(o.Redact(string(q.Text))), maxText), "text"),
	}
	if end != "" {
		lines = append(lines, end, answeredMark)
	} else {
		lines = append(lines, o.howToAnswer(q)...)
	}
	if o.Link != "" {
		lines = append(lines, "", o.Link)
	}
	return strings.Join(lines, "\n")
}

// howToAnswer has the exact words to write.
func (o *Options) howToAnswer(q *question) []string {
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
		lines = append(lines, "It waits for an answer of "+report.JoinWords(from, "or")+".")
	}
	if !q.until.IsZero() {
		lines = append(lines, fmt.Sprintf("It waits until %s; then %s follows.", q.until.UTC().Format(time.RFC1123), code(q.TimeoutNext)))
	}
	return lines
}

// answered says who has answered a question.
func (o *Options) answered(q *question) string {
	if q.answer == nil {
		return "Nobody has answered in time, and the run has continued without an answer."
	}
	if len(q.Choices) > 0 {
		return fmt.Sprintf("%s has answered %s.", code(q.answer.By), code(o.Redact(q.answer.Text)))
	}
	return fmt.Sprintf("%s has answered.", code(q.answer.By))
}

// again replies to an answer that can't be taken: why not, and what is to be written instead.
func again(q *question, r job.Comment, why string, words []string) string {
	lines := []string{replyMark(q.Token, r.Name()), fmt.Sprintf("Thank you, %s. %s:", code(r.Author.Login), why), ""}
	return strings.Join(append(lines, words...), "\n")
}

// choices are a list of the words that answer a question.
func (o *Options) choices(q *question) (list []string) {
	for _, c := range q.Choices {
		list = append(list, "- "+code(o.Prefix+" "+o.Redact(c)))
	}
	return list
}

// RejectionBody is the comment that says why an answer can't be taken. mark is that of StuckMark.
func RejectionBody(mark, why string) string {
	return mark + "\nThis answer can't be taken, since the run that asked can't continue:\n\n" + text.Fence(text.Printable(why), "text")
}

// RejectionMark is how a comment begins that says why the answer to a question can't be taken.
func RejectionMark(token string) string { return replyMark(token, "stuck") }

// code is a text as a code span, which nothing in it can end.
func code(s string) string { return text.Code(text.Brief(s, 200)) }

// onLine puts the line that a comment is about before what it says.
func onLine(r job.Comment, said string) string {
	if r.Kind != job.LineComment || r.File == "" {
		return said
	}
	where := "File " + text.WithoutHidden(text.Line(r.File))
	if r.Line > 0 {
		where += fmt.Sprintf(", line %d", r.Line)
	}
	if r.Hunk == "" {
		return where + ":\n\n" + said
	}
	// An HTML comment without an end in the diff must not hide what was said.
	return where + ":\n\n" + text.Fence(text.Suffix(text.WithoutHidden(r.Hunk), maxHunk), "diff") + "\n" + said
}
