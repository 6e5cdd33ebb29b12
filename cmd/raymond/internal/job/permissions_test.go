package job

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// api answers each request with the next of its answers, of the form "200 body",
// and the last of them for ever; it notes what it was asked.
type api struct {
	answers []string
	asked   []string
	waits   []time.Duration
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.asked = append(a.asked, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Authorization"))
	answer := a.answers[min(len(a.asked), len(a.answers))-1]
	status, body, _ := strings.Cut(answer, " ")
	code := 0
	_, _ = fmt.Sscan(status, &code)
	if to, ok := strings.CutPrefix(body, "to "); ok {
		w.Header().Set("Location", to)
		body = ""
	}
	w.WriteHeader(code)
	_, _ = w.Write([]byte(body))
}

// client returns a client of a server that answers so.
func (a *api) client(t *testing.T) *GitHub {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return clientOf(t, forge.Options{URL: server.URL + "/api/v3/", Token: "ghs_x", Calls: forge.Calls{Sleep: func(_ context.Context, d time.Duration) error {
		a.waits = append(a.waits, d)
		return nil
	}}})
}

// clientOf returns a client for the repository o/r.
func clientOf(t *testing.T, o forge.Options) *GitHub {
	t.Helper()
	o.Repository = "o/r"
	c, err := forge.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return NewGitHub(c)
}

func TestPermissionsAreAskedOfTheAPI(t *testing.T) {
	for _, test := range []struct {
		answers []string
		want    string
		err     string
		tries   int
	}{
		{[]string{`200 {"permission":"admin","role_name":"admin"}`}, "admin", "", 1},
		{[]string{`200 {"permission":"read"}`}, "read", "", 1},
		{[]string{`502 x`, `200 {"permission":"write"}`}, "write", "", 2},
		{[]string{`500 {}`}, "", "status 500: Internal Server Error", 3},
		{[]string{`401 {}`}, "", "the API does not accept github-token", 1},
		{[]string{`403 {}`}, "", "github-token may not ask", 1},
		{[]string{`404 {}`}, "", "knows no such person", 1},
		{[]string{`200 {}`}, "", "names no permission", 1},
		{[]string{`302 to http://elsewhere.invalid/`}, "", "redirected to another place", 3},
	} {
		a := &api{answers: test.answers}
		got, err := a.client(t).Permission(t.Context(), "ann")
		if failed := test.want == ""; failed != (err != nil) || !failed && got != test.want || failed && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%q: got %q, %v; want %q, an error with %q", test.answers, got, err, test.want, test.err)
		}
		if passes := test.tries == 3; forge.IsPassing(err) != passes {
			t.Errorf("%q: passing: %t, want %t", test.answers, !passes, passes)
		}
		if len(a.asked) != test.tries || len(a.waits) != test.tries-1 {
			t.Errorf("%q: got %q, waits %v; want %d tries", test.answers, a.asked, a.waits, test.tries)
		}
		if want := "GET /api/v3/repos/o/r/collaborators/ann/permission Bearer ghs_x"; a.asked[0] != want {
			t.Errorf("got the request %q, want %q", a.asked[0], want)
		}
		if err != nil && (strings.Contains(err.Error(), "127.0.0.1") || strings.Contains(err.Error(), "ghs_x")) {
			t.Errorf("%q: got %q, want it without address and token", test.answers, err)
		}
	}
}

func TestHeadsAreLookedUp(t *testing.T) {
	comment := Event{Name: "issue_comment", Subject: Subject{Kind: KindPullRequest, Number: 8}}
	for _, test := range []struct {
		event  Event
		answer string
		fork   bool
		known  bool
		failed bool
	}{
		{comment, `200 {"head":{"repo":{"id":1}},"base":{"repo":{"id":1}}}`, false, true, false},
		{comment, `200 {"head":{"repo":{"id":2}},"base":{"repo":{"id":1}}}`, true, true, false},
		{comment, `200 {"head":{"repo":null},"base":{"repo":{"id":1}}}`, true, true, false},
		{comment, `200 {}`, true, true, false},
		{comment, `403 {}`, false, false, true},
		{Event{Name: "unheard_of"}, "", false, false, false},
		{Event{Name: "pull_request", Subject: Subject{Kind: KindPullRequest, Number: 8}, Code: Code{Known: true, Fork: true}}, "", true, true, false},
	} {
		a := &api{answers: []string{test.answer}}
		e := test.event
		err := a.client(t).FindHead(t.Context(), &e)
		if e.Code.Fork != test.fork || e.Code.Known != test.known || (err != nil) != test.failed {
			t.Errorf("%+v, %s: got %+v, %v; want fork %v, known %v, error %v", test.event, test.answer, e, err, test.fork, test.known, test.failed)
		}
		if want := test.answer != ""; want != (len(a.asked) == 1) || want && !strings.HasPrefix(a.asked[0], "GET /api/v3/repos/o/r/pulls/8 ") {
			t.Errorf("%+v: got the requests %q", test.event, a.asked)
		}
	}
}

// TestPrivacyIsAskedOfTheAPI: what it doesn't say is not private.
func TestPrivacyIsAskedOfTheAPI(t *testing.T) {
	for answer, want := range map[string]string{
		`200 {"private":true}`: "true", `200 {"private":false}`: "false", `200 {}`: "false", `404 {}`: "the API knows no such",
	} {
		a := &api{answers: []string{answer}}
		private, err := a.client(t).Private(t.Context())
		got := fmt.Sprint(private)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || !strings.HasPrefix(a.asked[0], "GET /api/v3/repos/o/r ") {
			t.Errorf("%s: got %s after %q, want %s", answer, got, a.asked, want)
		}
	}
}
