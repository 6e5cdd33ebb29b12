package ask

import (
	"context"
	"fmt"
	"slices"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// reading is one look at the remarks of a place.
type reading struct {
	*clerk
	number  int
	here    []*question // that are open at this place, and have no answer yet
	list    []job.Comment
	asked   []report.Wait // all questions of the run
	answers []runner.QuestionUpdate
}

// read reads all that was said since the oldest question of the place.
func (r *reading) read(ctx context.Context) error {
	since := slices.MinFunc(r.here, func(a, b *question) int { return a.since.Compare(b.since) }).since
	var err error
	if r.list, err = r.o.API.ListComments(ctx, r.number, since.Add(-lookBack)); err != nil {
		return err
	}
	for _, q := range r.here {
		if i := slices.IndexFunc(r.list, func(x job.Comment) bool { return x.Kind == job.IssueComment && x.ID == q.Comment }); i >= 0 {
			q.created = r.list[i].Created
		}
	}
	for _, remark := range r.list {
		if err := r.consider(ctx, remark); err != nil {
			return err
		}
	}
	return nil
}

// consider takes a remark as an answer, if it is one.
func (r *reading) consider(ctx context.Context, remark job.Comment) error {
	if IsQuestionOrReply(remark.Body) || r.seen[remark.Name()] || len(r.here) == 0 {
		return nil
	}
	said, ok := ParseAnswer(remark.Body, r.o.Prefix)
	if !ok {
		return nil
	}
	q, said, several := address(remark, said, r.here, openAt(r.asked, remark.Created))
	if len(several) > 0 {
		var words []string
		for _, q := range several {
			words = append(words, fmt.Sprintf("- %s: %s", code(fmt.Sprintf("%s %d …", r.o.Prefix, q.Number)), code(text.Brief(r.o.Redact(string(q.Text)), 80))))
		}
		return r.refuse(ctx, remark, several[0], again(several[0], remark, "Several questions were open when you wrote this. Please write again, and name the one that you answer", words))
	}
	if q == nil {
		return nil
	}
	choice, ok := q.choose(said)
	if !ok {
		why := fmt.Sprintf("Question %d takes one of these answers, and it is still open", q.Number)
		return r.refuse(ctx, remark, q, again(q, remark, why, r.o.choices(q)))
	}
	if may, err := r.may(ctx, q, remark.Author); err != nil || !may {
		return err
	}
	r.seen[remark.Name()] = true
	r.here = slices.DeleteFunc(slices.Clone(r.here), func(other *question) bool { return other == q })
	if len(q.Choices) == 0 {
		choice = job.CleanAnswer(onLine(remark, choice), q.toPrompt)
	}
	a := &state.Answer{Text: choice, By: remark.Author.Login}
	r.answers = append(r.answers, runner.QuestionUpdate{Agent: q.agent, Number: q.Number, Answer: a})
	return nil
}

// refuse replies to an answer that can't be taken, if it is of somebody who may answer.
func (r *reading) refuse(ctx context.Context, remark job.Comment, q *question, body string) error {
	may, err := r.may(ctx, q, remark.Author)
	if err != nil || !may {
		return err
	}
	err = r.reply(ctx, r.number, r.list, body)
	if err == nil {
		r.seen[remark.Name()] = true
	}
	if err != nil && !forge.IsTemporary(err) {
		r.tell("a reply to an answer could not be written: " + err.Error())
		err = nil
	}
	return err
}
