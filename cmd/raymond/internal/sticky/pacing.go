package sticky

import "time"

// Every is the least time between two edits of a comment. In a long run edits become
// rarer, down to one in SlowEvery: all jobs of a repository share 1,000 requests an
// hour (GitHub's limit for GITHUB_TOKEN).
const (
	Every     = 15 * time.Second
	SlowEvery = 2 * time.Minute
	slower    = 40 // edits are at least this part of the time since the first one apart
)

const (
	firstPause   = time.Second     // after the first of several errors
	longestPause = time.Minute     // after many
	finalPause   = 5 * time.Second // after many, once Finish waits
	limitPause   = time.Minute     // after a rate limit that does not say how long
)

// pacing decides when the next request may be made.
type pacing struct {
	began        time.Time // when there first was something to edit
	wrote        time.Time // when the comment was written last
	limitedUntil time.Time // until then a rate limit forbids requests
	retryFrom    time.Time // until then there is no request after an error
	failures     int       // in a row
}

// nextEdit returns when the comment may be edited.
func (p *pacing) nextEdit(now time.Time) time.Time {
	if p.began.IsZero() {
		p.began = now
	}
	return p.wrote.Add(min(SlowEvery, max(Every, now.Sub(p.began)/slower)))
}

// allowed returns when the next request may be made.
func (p *pacing) allowed() time.Time {
	if p.retryFrom.After(p.limitedUntil) {
		return p.retryFrom
	}
	return p.limitedUntil
}

// wait pauses after an error, longer after each in a row.
func (p *pacing) wait(now time.Time, isFinal bool) {
	longest := longestPause
	if isFinal {
		longest = finalPause
	}
	p.retryFrom = now.Add(min(longest, firstPause<<min(p.failures, 10)))
	p.failures++
}

// limited pauses after a rate limit, for as long as the service said, or limitPause.
func (p *pacing) limited(now time.Time, pause time.Duration) {
	if pause <= 0 {
		pause = limitPause
	}
	p.limitedUntil = now.Add(pause)
}
