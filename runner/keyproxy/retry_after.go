package keyproxy

import (
	"net/http"
	"strconv"
	"time"
)

// maxRetryAfter bounds the wait that an API can ask for.
const maxRetryAfter = 365 * 24 * time.Hour

// storeRetryAfter stores the time of the next request that a failed response asks for.
func (a *Account) storeRetryAfter(r *http.Response) {
	if r.StatusCode != http.StatusTooManyRequests && r.StatusCode < 500 {
		return
	}
	now := time.Now()
	if wait, ok := parseRetryAfter(r.Header.Get("Retry-After"), now); ok {
		a.counts.mu.Lock()
		defer a.counts.mu.Unlock()
		a.counts.retryAfter = now.Add(wait)
	}
}

// parseRetryAfter parses the value of a Retry-After header: seconds, or a date.
func parseRetryAfter(text string, now time.Time) (time.Duration, bool) {
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 {
		return time.Duration(min(n, maxRetryAfter.Seconds()) * float64(time.Second)), true
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter), true
	}
	return 0, false
}

// RetryAfter returns when the API accepts the next request, according to the last failed response with
// a Retry-After header; otherwise the zero time.
func (a *Account) RetryAfter() time.Time {
	if a == nil {
		return time.Time{}
	}
	a.counts.mu.Lock()
	defer a.counts.mu.Unlock()
	return a.counts.retryAfter
}
