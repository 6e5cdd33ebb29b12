package keyproxy

import (
	"net/http"
	"strconv"
	"time"
)

// longestWait bounds what an API may ask for.
const longestWait = 365 * 24 * time.Hour

// notePause notes the pause that an answer asks for.
func (a *Account) notePause(r *http.Response) {
	if r.StatusCode != http.StatusTooManyRequests && r.StatusCode < 500 {
		return
	}
	now := time.Now()
	if wait, ok := retryAfter(r.Header.Get("Retry-After"), now); ok {
		a.counts.mu.Lock()
		defer a.counts.mu.Unlock()
		a.counts.pause = now.Add(wait)
	}
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

// RetryAfter returns until when the API asked not to be asked again, by the last failing answer
// that said so; the time is zero when there was none.
func (a *Account) RetryAfter() time.Time {
	if a == nil {
		return time.Time{}
	}
	a.counts.mu.Lock()
	defer a.counts.mu.Unlock()
	return a.counts.pause
}
