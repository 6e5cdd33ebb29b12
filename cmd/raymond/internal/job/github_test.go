package job

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// api is an HTTP handler that sends the same response to every request, and records the requests. answer
// contains the status and the body, like "200 {}".
type api struct {
	answer   string
	requests []string
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.requests = append(a.requests, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Authorization"))
	status, body, _ := strings.Cut(a.answer, " ")
	code, _ := strconv.Atoi(status)
	w.WriteHeader(code)
	_, _ = w.Write([]byte(body))
}

// clientOf starts a server and returns a client for the repository o/r on it. graphql is the URL of the
// GraphQL API; it may be a path on the server.
func clientOf(t *testing.T, h http.Handler, graphql string) *GitHub {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	if strings.HasPrefix(graphql, "/") {
		graphql = server.URL + graphql
	}
	c, err := forge.New(forge.Options{
		URL: server.URL + "/api/v3/", GraphQL: graphql, Token: "ghs_x", Repository: "o/r",
		Retrier: forge.Retrier{Sleep: func(context.Context, time.Duration) error { return nil }},
	})
	assert.NilError(t, err)
	return NewGitHub(c)
}

func TestPermissionsAreAskedOfTheAPI(t *testing.T) {
	for answer, want := range map[string]string{
		`200 {"permission":"admin","role_name":"admin"}`: "admin",
		`500 {}`: "status 500: Internal Server Error", `401 {}`: "the API does not accept github-token", `403 {}`: "github-token may not read",
		`404 {}`: "knows no such user", `200 {}`: "names no permission",
	} {
		a := &api{answer: answer}
		got, err := clientOf(t, a, "").Permission(t.Context(), "ann")
		if isPassing := strings.HasPrefix(answer, "500"); forge.IsTemporary(err) != isPassing {
			t.Errorf("%s: passing: %t, want %t", answer, !isPassing, isPassing)
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || strings.Contains(got, "127.0.0.1") || strings.Contains(got, "ghs_x") {
			t.Errorf("%s: got %q, want %q, without address and token", answer, got, want)
		}
		assert.Check(t, is.Equal(a.requests[0], "GET /api/v3/repos/o/r/collaborators/ann/permission Bearer ghs_x"), "the request")
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
		{Event{Name: "pull_request", Subject: Subject{Kind: KindPullRequest, Number: 8}, Code: CodeSource{Known: true, Fork: true}}, "", true, true, false},
	} {
		a := &api{answer: test.answer}
		e := test.event
		err := clientOf(t, a, "").FindHead(t.Context(), &e)
		if e.Code.Fork != test.fork || e.Code.Known != test.known || (err != nil) != test.failed {
			t.Errorf("%+v, %s: got %+v, %v; want fork %v, known %v, error %v", test.event, test.answer, e, err, test.fork, test.known, test.failed)
		}
		if want := test.answer != ""; want != (len(a.requests) == 1) || want && !strings.HasPrefix(a.requests[0], "GET /api/v3/repos/o/r/pulls/8 ") {
			t.Errorf("%+v: got the requests %q", test.event, a.requests)
		}
	}
}

// TestPrivacyIsAskedOfTheAPI checks the result of IsPrivate for several responses. A repository counts as
// public if the response has no field private.
func TestPrivacyIsAskedOfTheAPI(t *testing.T) {
	for answer, want := range map[string]bool{`200 {"private":true}`: true, `200 {"private":false}`: false, `200 {}`: false} {
		got, err := clientOf(t, &api{answer: answer}, "").IsPrivate(t.Context())
		assert.NilError(t, err)
		assert.Check(t, is.Equal(got, want), answer)
	}
}
