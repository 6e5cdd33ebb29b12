package ask

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// ours is the account of the token.
const ours = "github-actions[bot]"

// service has what was said on issue 7, which opener has opened. It runs on a fake clock.
type service struct {
	mu    sync.Mutex // guards all below
	all   []job.Comment
	last  int64
	asked []string    // what was asked, without arguments
	wrote []time.Time // when a comment was created or edited

	// fate decides what becomes of a request; nil for all going well.
	fate func(what string) fate
	self string // who asks; "" for not telling
}

// fate is what happens to a request.
type fate struct {
	err   *forge.Error  // what is answered, if not the truth
	done  bool          // it is carried out all the same
	later time.Duration // so long after
	takes time.Duration // before there is an answer
}

// maxAsked ends a test whose poster makes requests without a pause: its fake clock would
// never reach a time limit.
const maxAsked = 10_000

func newService() *service { return &service{last: 10, self: ours} }

// answer is the result of a request when the poster sees it.
type answer struct {
	list    []job.Comment
	comment job.Comment
	missing bool
}

// meet lets a request wait or fail as its fate says, and carries it out or not.
func (s *service) meet(ctx context.Context, what string, act func(*answer)) (answer, error) {
	var got, late answer
	s.mu.Lock()
	if s.asked = append(s.asked, what); len(s.asked) > maxAsked {
		panic("asked without end, the last " + what)
	}
	f := fate{}
	if s.fate != nil {
		f = s.fate(what)
	}
	s.mu.Unlock()
	if f.takes > 0 {
		select {
		case <-time.After(f.takes):
		case <-ctx.Done():
			return got, &forge.Error{Op: "too slow"}
		}
	}
	switch {
	case f.err == nil, f.done && f.later == 0:
		s.locked(func() { act(&got) })
	case f.done:
		time.AfterFunc(f.later, func() { s.locked(func() { act(&late) }) })
	}
	switch {
	case f.err != nil:
		return answer{}, f.err
	case got.missing:
		return got, &forge.Error{Kind: forge.Missing, Op: "404"}
	}
	return got, nil
}

func (s *service) locked(act func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	act()
}

func (s *service) ListIssueComments(ctx context.Context, _ int) ([]job.Comment, error) {
	got, err := s.meet(ctx, "list", func(a *answer) {
		a.list = slices.Clone(s.all)
	})
	return got.list, err
}

// on does something with a comment.
func (s *service) on(ctx context.Context, what string, id int64, act func(at int, a *answer)) (job.Comment, error) {
	got, err := s.meet(ctx, what, func(a *answer) {
		at := slices.IndexFunc(s.all, func(c job.Comment) bool { return c.ID == id })
		if a.missing = at < 0; !a.missing {
			act(at, a)
		}
	})
	return got.comment, err
}

func (s *service) ListComments(ctx context.Context, _ int, _ time.Time) ([]job.Comment, error) {
	return s.ListIssueComments(ctx, 0)
}

func (s *service) ReadComment(ctx context.Context, id int64) (job.Comment, error) {
	return s.on(ctx, "comment", id, func(at int, a *answer) { a.comment = s.all[at] })
}

func (s *service) IssueAuthor(ctx context.Context, _ int) (job.Account, error) {
	_, err := s.meet(ctx, "author", func(*answer) {})
	return job.Account{Login: "opener", Type: "User"}, err
}

func (s *service) CreateComment(ctx context.Context, _ int, body string) (job.Comment, error) {
	got, err := s.meet(ctx, "create", func(a *answer) {
		a.comment = s.said(ours, body)
		s.wrote = append(s.wrote, time.Now())
	})
	return got.comment, err
}

func (s *service) EditComment(ctx context.Context, id int64, body string) error {
	_, err := s.on(ctx, "edit", id, func(at int, _ *answer) {
		s.all[at].Body, s.wrote = body, append(s.wrote, time.Now())
	})
	return err
}

func (s *service) DeleteComment(ctx context.Context, id int64) error {
	_, err := s.on(ctx, "delete", id, func(at int, _ *answer) { s.all = slices.Delete(s.all, at, at+1) })
	return err
}

func (s *service) OwnLogin(ctx context.Context) (string, error) {
	_, err := s.meet(ctx, "self", func(*answer) {})
	if err == nil && s.self == "" {
		err = &forge.Error{Kind: forge.Denied, Op: "may not ask"}
	}
	if err != nil {
		return "", err
	}
	return s.self, nil
}

// add adds a comment of somebody.
func (s *service) add(author, body string) { s.locked(func() { s.said(author, body) }) }

func (s *service) said(author, body string) job.Comment {
	s.last++
	r := job.Comment{Kind: job.IssueComment, ID: s.last, Number: 7, Author: job.Account{Login: author}, Body: body, Created: time.Now()}
	s.all = append(s.all, r)
	return r
}

// of returns the comments of an author.
func (s *service) of(author string) []job.Comment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.all), func(c job.Comment) bool { return c.Author.Login != author })
}

// count returns how often a request was made.
func (s *service) count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, a := range s.asked {
		if a == what {
			n++
		}
	}
	return n
}
