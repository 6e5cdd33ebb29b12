package ask

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// ours is the login of the token's account.
const ours = "github-actions[bot]"

// service is a fake comment API. It stores the comments on issue 7, which the user opener has opened. It
// uses a fake clock.
type service struct {
	mu       sync.Mutex // guards the fields below
	all      []job.Comment
	last     int64
	requests []string    // the kinds of the requests, without arguments
	writes   []time.Time // when a comment was created or edited

	// fate decides the outcome of a request. If it is nil, all requests succeed.
	fate func(what string) fate
	self string // login of the token's account; if empty, the service does not tell it
}

// fate is the outcome of a request. The zero fate is success.
type fate struct {
	err   *forge.Error  // the error of the request, if it fails
	done  bool          // the request is carried out although it fails
	later time.Duration // the delay until it is carried out
	takes time.Duration // the time until there is a response
}

// maxAsked is the maximum number of requests in a test. A StickyComment that makes requests without a
// pause would not advance the fake clock, so the test would never reach a time limit.
const maxAsked = 10_000

func newService() *service { return &service{last: 10, self: ours} }

// answer is the content of a response.
type answer struct {
	list    []job.Comment
	comment job.Comment
	missing bool
}

// request simulates a request with the outcome that s.fate returns. act carries the request out and sets
// the response.
func (s *service) request(ctx context.Context, what string, act func(*answer)) (answer, error) {
	var got, late answer
	s.mu.Lock()
	if s.requests = append(s.requests, what); len(s.requests) > maxAsked {
		panic("requests without end; the last is " + what)
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

// locked calls act while it holds the mutex.
func (s *service) locked(act func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	act()
}

func (s *service) ListIssueComments(ctx context.Context, _ int) ([]job.Comment, error) {
	got, err := s.request(ctx, "list", func(a *answer) {
		a.list = slices.Clone(s.all)
	})
	return got.list, err
}

// onComment simulates a request about the comment with an id. act gets the index of the comment in s.all.
func (s *service) onComment(ctx context.Context, what string, id int64, act func(at int, a *answer)) (job.Comment, error) {
	got, err := s.request(ctx, what, func(a *answer) {
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
	return s.onComment(ctx, "comment", id, func(at int, a *answer) { a.comment = s.all[at] })
}

func (s *service) IssueAuthor(ctx context.Context, _ int) (job.Account, error) {
	_, err := s.request(ctx, "author", func(*answer) {})
	return job.Account{Login: "opener", Type: "User"}, err
}

func (s *service) CreateComment(ctx context.Context, _ int, body string) (job.Comment, error) {
	got, err := s.request(ctx, "create", func(a *answer) {
		a.comment = s.append(ours, body)
		s.writes = append(s.writes, time.Now())
	})
	return got.comment, err
}

func (s *service) EditComment(ctx context.Context, id int64, body string) error {
	_, err := s.onComment(ctx, "edit", id, func(at int, _ *answer) {
		s.all[at].Body, s.writes = body, append(s.writes, time.Now())
	})
	return err
}

func (s *service) DeleteComment(ctx context.Context, id int64) error {
	_, err := s.onComment(ctx, "delete", id, func(at int, _ *answer) { s.all = slices.Delete(s.all, at, at+1) })
	return err
}

func (s *service) OwnLogin(ctx context.Context) (string, error) {
	_, err := s.request(ctx, "self", func(*answer) {})
	if err == nil && s.self == "" {
		err = &forge.Error{Kind: forge.Denied, Op: "may not ask"}
	}
	if err != nil {
		return "", err
	}
	return s.self, nil
}

// add adds a comment by an account, without a request.
func (s *service) add(author, body string) { s.locked(func() { s.append(author, body) }) }

// append adds a comment by an account and returns it. The caller holds the mutex.
func (s *service) append(author, body string) job.Comment {
	s.last++
	r := job.Comment{Kind: job.IssueComment, ID: s.last, Number: 7, Author: job.Account{Login: author}, Body: body, Created: time.Now()}
	s.all = append(s.all, r)
	return r
}

// of returns the comments that an account has written.
func (s *service) of(author string) []job.Comment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.all), func(c job.Comment) bool { return c.Author.Login != author })
}

// count returns the number of requests of a kind, such as "create".
func (s *service) count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, a := range s.requests {
		if a == what {
			n++
		}
	}
	return n
}
