package keyproxy

import (
	"net/http"
	"strconv"
	"time"
)

// maxRetryAfter is the longest wait that an API can request.
const maxRetryAfter = 365 * 24 * time.Hour

// storeRetryAfter stores the time from the Retry-After header if the response has status 429 or 5xx.
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

// parseRetryAfter parses the value of a Retry-After header, which is a number of seconds or a date. It
// returns false if the value is neither.
func parseRetryAfter(text string, now time.Time) (time.Duration, bool) {
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 {
		return time.Duration(min(n, maxRetryAfter.Seconds()) * float64(time.Second)), true
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter), true
	}
	return 0, false
}

// RetryAfter returns when the API accepts the next request, according to the last failed response with a
// valid Retry-After header. It returns the zero time if there was none.
func (a *Account) RetryAfter() time.Time {
	if a == nil {
		return time.Time{}
	}
	a.counts.mu.Lock()
	defer a.counts.mu.Unlock()
	return a.counts.retryAfter
}
