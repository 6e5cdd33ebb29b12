package ask

import (
	"errors"
	"time"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// Every is the least time between two edits of a comment. In a long run edits become
// rarer, down to one in SlowEvery: all jobs of a repository share 1,000 requests an
// hour (GitHub's limit for GITHUB_TOKEN).
const (
	Every     = 15 * time.Second
	SlowEvery = 2 * time.Minute
	slower    = 40 // edits are at least this part of the time since the first one apart
)

const (
	shortestPause = time.Second     // after the first of several errors
	longestPause  = time.Minute     // after many
	finalPause    = 5 * time.Second // after many, once Finish waits
	limitPause    = time.Minute     // after a rate limit that does not say how long
)

// pace decides when the next request may be made.
type pace struct {
	began     time.Time // when there first was something to edit
	wrote     time.Time // when the comment was written last
	from      time.Time // until then there is no request, after an error
	isLimited bool      // by the service
	failures  int       // in a row
}

// nextEdit returns when the comment may be edited.
func (p *pace) nextEdit(now time.Time) time.Time {
	if p.began.IsZero() {
		p.began = now
	}
	return p.wrote.Add(min(SlowEvery, max(Every, now.Sub(p.began)/slower)))
}

// hurry ends the pause after an error: the last text does not wait for it.
func (p *pace) hurry() {
	if p.failures = 0; !p.isLimited {
		p.from = time.Time{}
	}
}

// note notes what became of a request, and reports whether another one could help. The pause
// is longer after each error in a row.
func (p *pace) note(err error, isFinal bool) bool {
	if err == nil {
		p.failures = 0
		return true
	}
	e := &forge.Error{}
	errors.As(err, &e)
	pause, longest := e.Wait, longestPause
	if p.isLimited = e.Kind == forge.Limited; p.isLimited {
		if pause <= 0 {
			pause = limitPause
		}
	} else {
		if isFinal {
			longest = finalPause
		}
		pause = min(longest, shortestPause<<min(p.failures, 10))
		p.failures++
	}
	p.from = time.Now().Add(pause)
	return e.Kind == forge.Unanswered || p.isLimited
}
