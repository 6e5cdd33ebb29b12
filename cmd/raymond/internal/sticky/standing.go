package sticky

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// Every is the least time between two edits of a comment. A run that takes long
// is told of less often, at least every SlowEvery: all jobs of a repository share
// 1,000 requests an hour (GitHub's limit for GITHUB_TOKEN).
const (
	Every     = 15 * time.Second
	SlowEvery = 2 * time.Minute
	slower    = 40 // this part of the time that has gone by is waited for
)

const (
	firstPause = time.Second     // before another try
	mostPause  = time.Minute     // the same, after many
	lastPause  = 5 * time.Second // the same, when somebody waits for the end
	unsaidWait = time.Minute     // after a rate limit that does not say how long
)

// mostAnew is how often a comment that somebody has removed is made anew.
const mostAnew = 1

// step is what is done next.
type step int

const (
	rest   step = iota // nothing, until there is news
	pause              // nothing, until a time
	recall             // look whether the remembered comment is ours
	search             // look for ours among all
	create
	verify // after a creation: is there an older one?
	edit
	remove // one that is too many
	review // at the end: has a creation without an answer made one too many?
	done
)

// standing is what is known about the comment, and what it should be.
type standing struct {
	marker string
	self   string // login of who makes our comments; "" for not known

	known   int64 // remembered from before, not looked at yet; 0 for none
	id      int64 // the comment; 0 for none yet
	shown   string
	surplus []int64 // others of ours
	looked  bool    // and none was found
	made    bool    // created, not verified
	doubt   bool    // a creation may have been done without an answer
	anew    int     // how often it was removed by somebody else

	want     string
	final    bool      // want is the last
	deadline time.Time // of the last
	began    time.Time // when there first was something to edit
	wrote    time.Time
	told     time.Time // nothing is asked before: the service said so
	notYet   time.Time // nor before that: it was in trouble
	failed   int       // in a row
	trouble  error     // the last
	over     bool      // nothing more can be done
}

// next returns what to do now, for pause with when to look again.
func (s *standing) next(now time.Time) (step, time.Time) {
	todo, at := s.todo(now)
	for _, t := range []time.Time{s.told, s.notYet} {
		if todo != rest && todo != done && now.Before(t) && at.Before(t) {
			todo, at = pause, t
		}
	}
	// Who waits for the end need not wait for what comes after it.
	if todo == pause && s.final && at.After(s.deadline) {
		return done, time.Time{}
	}
	return todo, at
}

// todo is next without regard to what the service told us to wait for.
func (s *standing) todo(now time.Time) (step, time.Time) {
	var at time.Time
	switch {
	case s.over, s.want == "" && s.final:
		return done, at
	case s.want == "":
		return rest, at
	case s.id == 0:
		return s.missing(), at
	case s.made:
		return verify, at
	case len(s.surplus) > 0:
		return remove, at
	case s.shown != s.want:
		return s.editing(now)
	case s.final && s.doubt:
		return review, at
	case s.final:
		return done, at
	}
	return rest, at
}

// missing is what to do as long as no comment is known.
func (s *standing) missing() step {
	switch {
	case s.known != 0:
		return recall
	case !s.looked:
		return search
	}
	return create
}

// editing is when to edit. The last text does not wait.
func (s *standing) editing(now time.Time) (step, time.Time) {
	if s.began.IsZero() {
		s.began = now
	}
	pace := min(SlowEvery, max(Every, now.Sub(s.began)/slower))
	if at := s.wrote.Add(pace); !s.final && now.Before(at) {
		return pause, at
	}
	return edit, time.Time{}
}

// take takes what the comment should say from now on. At the end there is no time
// to lose on pauses of our own.
func (s *standing) take(n news) {
	if s.want = n.body; n.final {
		s.final, s.deadline, s.notYet, s.failed = true, n.deadline, time.Time{}, 0
	}
}

// isOurs reports whether a comment is one that we may touch. What is in it is
// anybody's to write, its author is not; and text that quotes a comment of ours
// does not begin with its marker.
func (s *standing) isOurs(c job.Comment) bool {
	return c.ID != 0 && s.isMarked(c) && s.self != "" && c.Author == s.self
}

func (s *standing) isMarked(c job.Comment) bool { return strings.HasPrefix(c.Body, s.marker) }

// recalled takes what the remembered comment is by now.
func (s *standing) recalled(c job.Comment) {
	if s.known = 0; s.isOurs(c) {
		s.id, s.shown = c.ID, c.Body
	}
}

// found takes what a look at all comments has brought. Of several the oldest
// stays, whoever looks.
func (s *standing) found(all []job.Comment) {
	s.looked, s.made = true, false
	ours := slices.DeleteFunc(slices.Clone(all), func(c job.Comment) bool { return !s.isOurs(c) })
	if s.id != 0 && !slices.ContainsFunc(ours, func(c job.Comment) bool { return c.ID == s.id }) {
		ours = append(ours, job.Comment{ID: s.id, Body: s.shown}) // the list lags behind
	}
	if len(ours) == 0 {
		return
	}
	oldest := slices.MinFunc(ours, func(a, b job.Comment) int { return cmp.Compare(a.ID, b.ID) })
	if s.id != oldest.ID {
		s.id, s.shown = oldest.ID, oldest.Body
	}
	s.surplus = nil
	for _, c := range ours {
		if c.ID != s.id {
			s.surplus = append(s.surplus, c.ID)
		}
	}
}

// created takes the comment that was made of a body.
func (s *standing) created(c job.Comment, body string, now time.Time) {
	s.id, s.shown, s.wrote = c.ID, body, now
	s.made = true
	if c.Author != "" {
		s.self = c.Author
	}
}

func (s *standing) edited(body string, now time.Time) { s.shown, s.wrote = body, now }

func (s *standing) removed() { s.surplus = s.surplus[1:] }

// went takes a success: the service is well.
func (s *standing) went() { s.failed, s.trouble = 0, nil }

// refused takes an error of what was to be done.
func (s *standing) refused(what step, err error, now time.Time) {
	s.trouble = err
	e := &forge.Error{Kind: forge.Unanswered}
	errors.As(err, &e)
	if what == create {
		s.looked = false // it may be there, or somebody else's
		s.doubt = s.doubt || e.Kind == forge.Unanswered
	}
	switch e.Kind {
	case forge.Unanswered:
		most := mostPause
		if s.final {
			most = lastPause
		}
		s.notYet = now.Add(min(most, firstPause<<min(s.failed, 10)))
		s.failed++
	case forge.Limited:
		wait := e.Wait
		if wait <= 0 {
			wait = unsaidWait
		}
		s.told = now.Add(wait)
	default:
		s.denied(what, e.Kind)
	}
}

// denied takes an error that another try does not change.
func (s *standing) denied(what step, kind forge.Kind) {
	switch {
	case what == recall && kind == forge.Missing:
		s.known = 0
	case what == remove:
		s.removed() // it is gone, or it can't be helped
	case what == verify, what == review:
		s.made, s.doubt = false, false
	case what == edit && kind == forge.Missing && s.anew < mostAnew:
		s.id, s.looked, s.anew = 0, false, s.anew+1
	default:
		s.over = true
	}
}
