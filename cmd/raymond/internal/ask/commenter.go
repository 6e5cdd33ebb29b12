package ask

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
)

// lookBack is the time by which the search for a question's comment starts before the question was
// asked, because the clocks of this machine and the forge differ.
const lookBack = 10 * time.Minute

// commenter posts questions and reads answers for a CommentPrompter, in a single goroutine.
type commenter struct {
	o       *Options
	us      account
	seen    map[string]bool        // names of the comments that were used as answers or got a reply
	issues  map[int64]int          // issue numbers of questions, by the ids of their comments
	authors map[int]job.Account    // authors of issues, by number
	denials map[string]*job.Denial // by login and type of accounts; nil if the account may answer
	warned  map[string]bool        // warnings that were written
}

func newCommenter(o *Options) *commenter {
	return &commenter{
		o: o, us: account{api: o.API},
		seen: map[string]bool{}, issues: map[int64]int{}, authors: map[int]job.Account{}, denials: map[string]*job.Denial{}, warned: map[string]bool{},
	}
}

// errNowhere means that a question has no issue or pull request to be posted on.
var errNowhere = &forge.Error{
	Op: "write a comment", Kind: forge.Refused, Final: true,
	Err: errors.New("the event has no issue or pull request; name one with the attribute where"),
}

// post posts a question and returns the id of the comment. If an earlier attempt may have created the
// comment, post looks for it before it creates one. Even if post returns an error, the comment may
// have been created.
func (c *commenter) post(ctx context.Context, q *question) (int64, error) {
	number := c.issueToAskOn(q)
	if number == 0 {
		return 0, errNowhere
	}
	if q.isOld || q.mayExist {
		list, err := c.o.API.ListComments(ctx, number, q.since.Add(-lookBack))
		if err == nil {
			list, err = c.us.ownComments(ctx, list, questionMark+q.Token)
		}
		if err != nil {
			return 0, err
		}
		if len(list) > 0 {
			q.created = list[0].Created
			return list[0].ID, nil
		}
	}
	q.mayExist = true
	created, err := c.o.API.CreateComment(ctx, number, c.o.questionBody(q, ""))
	if err == nil {
		c.us.learn(created)
	}
	q.created = created.Created
	return created.ID, err
}

// warnOnce writes a warning, unless the same text was written before.
func (c *commenter) warnOnce(text string) {
	if !c.warned[text] {
		c.warned[text] = true
		c.o.Warn(text)
	}
}

// findAnswers returns the first valid answer to each open question. asked lists all questions of
// the run. After an error, it also returns the answers that were found before the error.
func (c *commenter) findAnswers(ctx context.Context, open []*question, asked []report.Wait) ([]runner.QuestionUpdate, error) {
	places := map[int][]*question{}
	for _, q := range open {
		number, err := c.issueOf(ctx, q)
		if err != nil {
			return nil, err
		}
		if number != 0 {
			places[number] = append(places[number], q)
		}
	}
	var answers []runner.QuestionUpdate
	for _, number := range slices.Sorted(maps.Keys(places)) {
		r := &threadReader{commenter: c, number: number, open: places[number], asked: asked}
		err := r.read(ctx)
		answers = append(answers, r.answers...)
		if err != nil {
			return answers, err
		}
	}
	return answers, nil
}

// issueToAskOn returns the number of the issue on which to post q. It returns 0 if q can't be posted anywhere.
func (c *commenter) issueToAskOn(q *question) int {
	switch {
	case q.Where != 0:
		return q.Where
	case q.isOld && c.o.EarlierNumber != 0:
		return c.o.EarlierNumber
	}
	return c.o.Number
}

// issueOf returns the number of the issue on which q was posted, or 0 if that is unknown. The issue that
// contains the question's comment takes precedence over the issue of this step's event.
func (c *commenter) issueOf(ctx context.Context, q *question) (int, error) {
	if q.Where != 0 || q.Comment == 0 {
		return c.issueToAskOn(q), nil
	}
	if c.issues[q.Comment] != 0 {
		return c.issues[q.Comment], nil
	}
	found, err := c.o.API.ReadComment(ctx, q.Comment)
	if forge.IsTemporary(err) {
		return 0, err
	}
	if err != nil || found.Number == 0 {
		return c.issueToAskOn(q), nil // the comment was removed or can't be read
	}
	c.issues[q.Comment] = found.Number
	return found.Number, nil
}
