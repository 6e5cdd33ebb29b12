package ask

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
)

// lookBack is by how much earlier than a question its comment is looked for: clocks differ.
const lookBack = 10 * time.Minute

// clerk asks and reads for People, from one goroutine.
type clerk struct {
	o       *Options
	us      account
	seen    map[string]bool        // names of remarks that are answers already, or have had a reply
	places  map[int64]int          // where comments with questions are
	authors map[int]job.Account    // those of issues, by number
	denied  map[string]*job.Denial // what is known of people, by login and type; nil: they may answer
	noted   map[string]bool        // what was told already
}

func newClerk(o *Options) *clerk {
	return &clerk{
		o: o, us: account{of: o.API},
		seen: map[string]bool{}, places: map[int64]int{}, authors: map[int]job.Account{}, denied: map[string]*job.Denial{}, noted: map[string]bool{},
	}
}

// errNowhere says that a question can't be asked.
var errNowhere = &forge.Error{
	Op: "write a comment", Kind: forge.Refused, Final: true,
	Err: errors.New("the event has no issue or pull request; the attribute where names one"),
}

// post posts a question, unless that has been done, and returns the id of the comment. One
// that may be there already is looked for before; after an error there may be one.
func (c *clerk) post(ctx context.Context, q *question) (int64, error) {
	number := c.place(q)
	if number == 0 {
		return 0, errNowhere
	}
	if q.isOld || q.mayBeThere {
		found, err := c.posted(ctx, number, q)
		if err != nil || found.ID != 0 {
			q.created = found.Created
			return found.ID, err
		}
	}
	q.mayBeThere = true
	made, err := c.o.API.CreateComment(ctx, number, c.o.question(q, ""))
	if err == nil {
		c.us.learn(made)
	}
	q.created = made.Created
	return made.ID, err
}

// posted is the comment that asks a question; a zero one when there is none.
func (c *clerk) posted(ctx context.Context, number int, q *question) (job.Comment, error) {
	list, err := c.o.API.ListComments(ctx, number, q.since.Add(-lookBack))
	if err == nil {
		list, err = c.us.wrote(ctx, list, questionMark+q.Token)
	}
	if err != nil || len(list) == 0 {
		return job.Comment{}, err
	}
	return list[0], nil
}

// reply replies to a remark, once.
func (c *clerk) reply(ctx context.Context, number int, list []job.Comment, body string) error {
	mark, _, _ := strings.Cut(body, "\n")
	found, err := c.us.wrote(ctx, list, mark)
	if err != nil || len(found) > 0 {
		return err
	}
	_, err = c.o.API.CreateComment(ctx, number, body)
	return err
}

// tell tells people something once.
func (c *clerk) tell(text string) {
	if !c.noted[text] {
		c.noted[text] = true
		c.o.Warn(text)
	}
}

// lookUp returns the answers to questions: of each the first one that answers it. asked are all
// that the run has asked.
func (c *clerk) lookUp(ctx context.Context, open []*question, asked []report.Wait) ([]runner.QuestionUpdate, error) {
	places := map[int][]*question{}
	for _, q := range open {
		number, err := c.placeOf(ctx, q)
		if err != nil {
			return nil, err
		}
		if number != 0 {
			places[number] = append(places[number], q)
		}
	}
	var answers []runner.QuestionUpdate
	for _, number := range slices.Sorted(maps.Keys(places)) {
		r := &reading{clerk: c, number: number, here: places[number], asked: asked}
		err := r.read(ctx)
		answers = append(answers, r.answers...)
		if err != nil {
			return answers, err
		}
	}
	return answers, nil
}

// place is where a question without a comment is asked.
func (c *clerk) place(q *question) int {
	switch {
	case q.Where != 0:
		return q.Where
	case q.isOld && c.o.EarlierNumber != 0:
		return c.o.EarlierNumber
	}
	return c.o.Number
}

// placeOf is where a question is asked; 0 for nowhere. What its comment says counts more
// than what this step's event is about.
func (c *clerk) placeOf(ctx context.Context, q *question) (int, error) {
	if q.Where != 0 || q.Comment == 0 {
		return c.place(q), nil
	}
	if c.places[q.Comment] != 0 {
		return c.places[q.Comment], nil
	}
	found, err := c.o.API.ReadComment(ctx, q.Comment)
	if forge.IsTemporary(err) {
		return 0, err
	}
	if err != nil || found.Number == 0 {
		return c.place(q), nil // somebody has removed it
	}
	c.places[q.Comment] = found.Number
	return found.Number, nil
}
