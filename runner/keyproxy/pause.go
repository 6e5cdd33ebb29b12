package keyproxy

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// longestWait bounds what an API may ask for.
const longestWait = 365 * 24 * time.Hour

// pause is the last one that the API asked for.
type pause struct {
	mu        sync.Mutex // guards what follows
	at, until time.Time
}

// note notes the pause that an answer asks for.
func (p *pause) note(r *http.Response) {
	if r.StatusCode != http.StatusTooManyRequests && r.StatusCode < 500 {
		return
	}
	now := time.Now()
	wait, ok := retryAfter(r.Header.Get("Retry-After"), now)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at, p.until = now, now.Add(wait)
}

// retryAfter reads seconds, or a date.
func retryAfter(text string, now time.Time) (time.Duration, bool) {
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 {
		return time.Duration(min(n, longestWait.Seconds()) * float64(time.Second)), true
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), longestWait), true
	}
	return 0, false
}

// RetryAfter returns until when the API asked not to be asked again. What counts is
// the last failing answer that said so, to any invocation, since the account was
// opened; the time is zero when there was none.
func (a *Account) RetryAfter() time.Time {
	if a == nil {
		return time.Time{}
	}
	return a.vendor.pause.since(a.opened)
}

// since returns the end of a pause that was asked for at a time or later.
func (p *pause) since(at time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at.Before(at) {
		return time.Time{}
	}
	return p.until
}
