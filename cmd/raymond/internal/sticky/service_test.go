package sticky

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
)

// ours is the account of the token.
const ours = "github-actions[bot]"

// service keeps the comments of one issue. Its time is that of a bubble.
type service struct {
	mu    sync.Mutex // guards all below
	all   []job.Comment
	last  int64
	asked []string    // what was asked, without arguments
	wrote []time.Time // when a comment was created or edited

	// fate decides what becomes of a request; nil for all going well.
	fate  func(what string) fate
	hides bool   // lists are empty
	self  string // who asks; "" for not telling
}

// fate is what becomes of a request.
type fate struct {
	err   *job.CommentError // what is answered, if not the truth
	done  bool              // it is carried out all the same
	later time.Duration     // so long after
	takes time.Duration     // before there is an answer
}

func newService() *service { return &service{last: 10, self: ours} }

// meet lets the fate of a request take place, and carries it out or not.
func (s *service) meet(ctx context.Context, what string, act func()) error {
	s.mu.Lock()
	s.asked = append(s.asked, what)
	f := fate{}
	if s.fate != nil {
		f = s.fate(what)
	}
	s.mu.Unlock()
	if f.takes > 0 {
		select {
		case <-time.After(f.takes):
		case <-ctx.Done():
			return &job.CommentError{What: "too slow"}
		}
	}
	switch {
	case f.err == nil, f.done && f.later == 0:
		s.locked(act)
	case f.done:
		time.AfterFunc(f.later, func() { s.locked(act) })
	}
	if f.err != nil {
		return f.err
	}
	return nil
}

func (s *service) locked(act func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	act()
}

// List implements API.
func (s *service) List(ctx context.Context) (list []job.Comment, err error) {
	err = s.meet(ctx, "list", func() {
		if list = slices.Clone(s.all); s.hides {
			list = nil
		}
	})
	return list, err
}

// Comment implements API.
func (s *service) Comment(ctx context.Context, id int64) (c job.Comment, err error) {
	missing := false
	err = s.meet(ctx, "get", func() {
		at := s.at(id)
		if missing = at < 0; !missing {
			c = s.all[at]
		}
	})
	return c, s.orMissing(err, missing)
}

// Create implements API.
func (s *service) Create(ctx context.Context, body string) (c job.Comment, err error) {
	err = s.meet(ctx, "create", func() {
		s.last++
		c = job.Comment{ID: s.last, Author: ours, Body: body}
		s.all, s.wrote = append(s.all, c), append(s.wrote, time.Now())
	})
	return c, err
}

// Edit implements API.
func (s *service) Edit(ctx context.Context, id int64, body string) error {
	missing := false
	err := s.meet(ctx, "edit", func() {
		at := s.at(id)
		if missing = at < 0; !missing {
			s.all[at].Body, s.wrote = body, append(s.wrote, time.Now())
		}
	})
	return s.orMissing(err, missing)
}

// Delete implements API.
func (s *service) Delete(ctx context.Context, id int64) error {
	missing := false
	err := s.meet(ctx, "delete", func() {
		at := s.at(id)
		if missing = at < 0; !missing {
			s.all = slices.Delete(s.all, at, at+1)
		}
	})
	return s.orMissing(err, missing)
}

// Self implements API.
func (s *service) Self(ctx context.Context) (string, error) {
	err := s.meet(ctx, "self", func() {})
	if err == nil && s.self == "" {
		err = &job.CommentError{Kind: job.Forbidden, What: "may not ask"}
	}
	if err != nil {
		return "", err
	}
	return s.self, nil
}

func (s *service) at(id int64) int {
	return slices.IndexFunc(s.all, func(c job.Comment) bool { return c.ID == id })
}

func (s *service) orMissing(err error, missing bool) error {
	if err == nil && missing {
		return &job.CommentError{Kind: job.Missing, What: "404"}
	}
	return err
}

// add has somebody comment.
func (s *service) add(author, body string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.all = append(s.all, job.Comment{ID: s.last, Author: author, Body: body})
	return s.last
}

// take removes a comment, as a person may.
func (s *service) take(id int64) {
	s.locked(func() { s.all = slices.DeleteFunc(s.all, func(c job.Comment) bool { return c.ID == id }) })
}

// of are the comments of an author.
func (s *service) of(author string) []job.Comment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.all), func(c job.Comment) bool { return c.Author != author })
}

// count is how often something was asked.
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
