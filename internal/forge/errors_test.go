package forge

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestResponsesHaveKinds checks how ResponseError classifies responses by their status and header.
func TestResponsesHaveKinds(t *testing.T) {
	for _, test := range []struct {
		status int
		header string // pairs of the form name=value, separated by spaces
		kind   Kind
		wait   time.Duration
	}{
		{500, "", Unanswered, 0},
		{503, "Retry-After=7", Unanswered, 7 * time.Second},
		{408, "", Unanswered, 0},
		{429, "", Limited, 0},
		{429, "Retry-After=17", Limited, 17 * time.Second},
		{403, "Retry-After=30", Limited, 30 * time.Second},
		{403, "X-Ratelimit-Remaining=0", Limited, 0},
		{403, "X-Ratelimit-Remaining=5 X-Ratelimit-Reset=1", Denied, 0},
		{403, "", Denied, 0},
		{401, "", Denied, 0},
		{404, "", Missing, 0},
		{410, "", Missing, 0},
		{409, "", Refused, 0},
		{302, "", Refused, 0},
	} {
		resp := &http.Response{StatusCode: test.status, Header: http.Header{}}
		for _, pair := range strings.Fields(test.header) {
			name, value, _ := strings.Cut(pair, "=")
			resp.Header.Set(name, value)
		}
		e := ResponseError(resp)
		if e == nil || e.Kind != test.kind || e.Wait != test.wait || e.Status != test.status {
			t.Errorf("%d %q: got %+v, want kind %d and a wait of %v", test.status, test.header, e, test.kind, test.wait)
		}
	}
	assert.Check(t, is.Nil(ResponseError(&http.Response{StatusCode: 204})), "204")
}
