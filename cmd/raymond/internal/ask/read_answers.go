package ask

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// threadReader reads the comments on one issue or pull request. It is used for a single poll.
type threadReader struct {
	*commenter
	number  int
	open    []*question // open questions on this issue that have no answer yet
	list    []job.Comment
	asked   []report.Wait // all questions of the run
	answers []runner.QuestionUpdate
}

// read lists the comments since the oldest open question on the issue, and collects the answers.
func (r *threadReader) read(ctx context.Context) error {
	since := slices.MinFunc(r.open, func(a, b *question) int { return a.since.Compare(b.since) }).since
	var err error
	if r.list, err = r.o.API.ListComments(ctx, r.number, since.Add(-lookBack)); err != nil {
		return err
	}
	for _, q := range r.open {
		if i := slices.IndexFunc(r.list, func(x job.Comment) bool { return x.Kind == job.IssueComment && x.ID == q.Comment }); i >= 0 {
			q.created = r.list[i].Created
		}
	}
	for _, comment := range r.list {
		if err := r.consider(ctx, comment); err != nil {
			return err
		}
	}
	return nil
}

// consider checks one comment. A valid answer is added to r.answers; an answer that can't be accepted
// gets a reply. Other comments are ignored.
func (r *threadReader) consider(ctx context.Context, comment job.Comment) error {
	if IsQuestionOrReply(comment.Body) || r.seen[comment.Name()] || len(r.open) == 0 {
		return nil
	}
	answer, ok := ParseAnswer(comment.Body, r.o.Prefix)
	if !ok {
		return nil
	}
	q, answer, several := matchQuestion(comment, answer, r.open, openAt(r.asked, comment.Created))
	if len(several) > 0 {
		var words []string
		for _, q := range several {
			words = append(words, fmt.Sprintf("- %s: %s", code(fmt.Sprintf("%s %d …", r.o.Prefix, q.Number)), code(text.Brief(r.o.Redact(string(q.Text)), 80))))
		}
		return r.refuse(ctx, comment, several[0], correction(several[0], comment, "Several questions were open when you wrote this. Please answer again with the number of the question", words))
	}
	if q == nil {
		return nil
	}
	choice, ok := q.choose(answer)
	if !ok {
		why := fmt.Sprintf("Question %d is still open, and has these answers", q.Number)
		return r.refuse(ctx, comment, q, correction(q, comment, why, r.o.choices(q)))
	}
	if may, err := r.mayAnswer(ctx, q, comment.Author); err != nil || !may {
		return err
	}
	r.seen[comment.Name()] = true
	r.open = slices.DeleteFunc(slices.Clone(r.open), func(other *question) bool { return other == q })
	if len(q.Choices) == 0 {
		choice = job.CleanAnswer(onLine(comment, choice), q.toPrompt)
	}
	a := &state.Answer{Text: choice, By: comment.Author.Login}
	r.answers = append(r.answers, runner.QuestionUpdate{Agent: q.agent, Number: q.Number, Answer: a})
	return nil
}

// refuse replies to an answer that can't be accepted. It does nothing if the author may not answer.
func (r *threadReader) refuse(ctx context.Context, comment job.Comment, q *question, body string) error {
	may, err := r.mayAnswer(ctx, q, comment.Author)
	if err != nil || !may {
		return err
	}
	mark, _, _ := strings.Cut(body, "\n")
	found, err := r.us.ownComments(ctx, r.list, mark)
	if err == nil && len(found) == 0 { // our account has not posted the same reply before
		_, err = r.o.API.CreateComment(ctx, r.number, body)
	}
	if err == nil {
		r.seen[comment.Name()] = true
	}
	if err != nil && !forge.IsTemporary(err) {
		r.warnOnce("could not write a reply to an answer: " + err.Error())
		err = nil
	}
	return err
}
