package ask

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// clerk asks and reads for People, from one goroutine.
type clerk struct {
	o      *Options
	words  wording
	self   string          // login of the account that writes our comments; "" for not known
	seen   map[string]bool // names of remarks that are answers already, or have had a reply
	places map[int64]int   // where comments with questions are
	// authors are those of issues, by number.
	authors map[int]job.Account
	noted   map[string]bool // what was told already
}

func newClerk(o *Options) *clerk {
	return &clerk{
		o: o, words: wording{o.Prefix, o.Shown, o.Link},
		seen: map[string]bool{}, places: map[int64]int{}, authors: map[int]job.Account{}, noted: map[string]bool{},
	}
}

// errNowhere says that a question can't be asked.
var errNowhere = &forge.Error{
	Op: "write a comment", Kind: forge.Refused, Final: true,
	Err: errors.New("the event has no issue or pull request; the attribute where names one"),
}

func (c *clerk) pointer(q *question) Pointer {
	p := c.o.Pointer
	p.Token, p.Number = q.Token, q.Number
	return p
}

// post posts a question, unless that has been done, and returns the id of the comment.
func (c *clerk) post(ctx context.Context, q *question) (int64, error) {
	number := c.place(q)
	if number == 0 {
		return 0, errNowhere
	}
	found, err := c.once(ctx, number, q, c.words.question(c.pointer(q), q, ""))
	q.created = found.Created
	return found.ID, err
}

// place is where a question without a comment is asked.
func (c *clerk) place(q *question) int {
	switch {
	case q.Where != 0:
		return q.Where
	case q.isOld && c.o.Earlier != 0:
		return c.o.Earlier
	}
	return c.o.Number
}

// once posts the comment of a question. One that may be there already is looked for
// before; after an error there may be one.
func (c *clerk) once(ctx context.Context, number int, q *question, body string) (job.Remark, error) {
	if q.isOld {
		list, err := c.o.Forum.Remarks(ctx, number, q.since.Add(-lookBack))
		if err != nil {
			return job.Remark{}, err
		}
		found, err := c.ours(ctx, list, questionMark+q.Token)
		if err != nil || found.ID != 0 {
			return found, err
		}
	}
	q.isOld = true
	made, err := c.o.Forum.Say(ctx, number, body)
	if err == nil && made.Author.Login != "" {
		c.self = made.Author.Login
	}
	return made, err
}

// ours returns the oldest of our own comments that begins so; a zero one when there is
// none. If the service refuses to say whose our token is, no comment is taken for ours.
func (c *clerk) ours(ctx context.Context, list []job.Remark, mark string) (job.Remark, error) {
	for _, r := range list {
		if r.Kind != job.OnIssue || !strings.HasPrefix(r.Body, mark) {
			continue
		}
		if err := c.learnSelf(ctx); err != nil {
			return job.Remark{}, err
		}
		if c.self != "" && r.Author.Login == c.self {
			return r, nil
		}
	}
	return job.Remark{}, nil
}

func (c *clerk) learnSelf(ctx context.Context) error {
	if c.self != "" {
		return nil
	}
	login, err := c.o.Forum.Self(ctx)
	if forge.IsPassing(err) {
		return err
	}
	c.self = login
	return nil
}

// reply replies to a remark, once.
func (c *clerk) reply(ctx context.Context, number int, list []job.Remark, body string) error {
	mark, _, _ := strings.Cut(body, "\n")
	found, err := c.ours(ctx, list, mark)
	if err != nil || found.ID != 0 {
		return err
	}
	_, err = c.o.Forum.Say(ctx, number, body)
	return err
}

// tell tells people something once.
func (c *clerk) tell(text string) {
	if !c.noted[text] {
		c.noted[text] = true
		c.o.Tell(text)
	}
}

// isFrom reports whether a question is for somebody. author says who opened the issue.
func isFrom(q *question, login string) bool {
	return len(q.From) == 0 || slices.ContainsFunc(q.From, func(name string) bool { return strings.EqualFold(strings.TrimSpace(name), login) })
}

// authorWord stands in Question.From for whoever has opened the issue.
const authorWord = "author"
