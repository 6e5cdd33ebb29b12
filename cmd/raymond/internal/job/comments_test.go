package job

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// forum is a server with so many pages of comments, or one that answers every
// request in the same way.
type forum struct {
	pages  int
	status int // 0: as it should be
	header http.Header
	body   string
	asked  []string
}

func (f *forum) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.asked = append(f.asked, r.Method+" "+r.URL.RequestURI())
	for name, values := range f.header {
		w.Header()[name] = values
	}
	if f.status != 0 {
		w.WriteHeader(f.status)
		fmt.Fprint(w, f.body)
		return
	}
	page, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil || r.URL.Query().Get("per_page") != "100" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if page < f.pages {
		w.Header().Set("Link", fmt.Sprintf(`<http://%s%s?page=%d>; rel="next", <http://%s%s?page=%d>; rel="last"`, r.Host, r.URL.Path, page+1, r.Host, r.URL.Path, f.pages))
	}
	fmt.Fprintf(w, `[{"id":%d,"body":"of page %d","user":{"login":"ann"}},{"id":%d}]`, page*10, page, page*10+1)
}

// comments returns the comments on number 7 of the server.
func (f *forum) comments(t *testing.T, graphql string) *Comments {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	if graphql != "" && !strings.Contains(graphql, ":") {
		graphql = server.URL + graphql
	}
	return clientOf(t, forge.Options{URL: server.URL + "/api", GraphQL: graphql, Token: "ghs_x"}).Comments(7)
}

// TestCommentsAreListedPageByPage: all of them up to a thousand, and of more the
// first and the last.
func TestCommentsAreListedPageByPage(t *testing.T) {
	for pages, want := range map[int]string{1: "1", 2: "1 2", 4: "1 2 3 4", 10: "1 2 3 4 5 6 7 8 9 10", 11: "1 3 4 5 6 7 8 9 10 11", 99: "1 91 92 93 94 95 96 97 98 99"} {
		f := &forum{pages: pages}
		list, err := f.comments(t, "").List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := 0; i < len(list); i += 2 {
			page := list[i].ID / 10
			got = append(got, fmt.Sprint(page))
			if want := (Comment{page * 10, "ann", fmt.Sprintf("of page %d", page)}); list[i] != want || list[i+1] != (Comment{ID: page*10 + 1}) {
				t.Errorf("%d pages: got %+v, %+v; want %+v and one without anything", pages, list[i], list[i+1], want)
			}
		}
		if strings.Join(got, " ") != want || len(f.asked) > 10 {
			t.Errorf("%d pages: got pages %q by %d requests, want %q by 10 at most", pages, got, len(f.asked), want)
		}
		if want := "GET /api/repos/o/r/issues/7/comments?page=1&per_page=100"; f.asked[0] != want {
			t.Errorf("first request: got %q, want %q", f.asked[0], want)
		}
	}
}

// ways are all requests about comments.
var ways = map[string]func(*Comments, context.Context) error{
	"GET /api/repos/o/r/issues/7/comments?page=1&per_page=100": func(c *Comments, ctx context.Context) error {
		_, err := c.List(ctx)
		return err
	},
	"GET /api/repos/o/r/issues/comments/5": func(c *Comments, ctx context.Context) error {
		_, err := c.Comment(ctx, 5)
		return err
	},
	"POST /api/repos/o/r/issues/7/comments": func(c *Comments, ctx context.Context) error {
		_, err := c.Create(ctx, "text")
		return err
	},
	"PATCH /api/repos/o/r/issues/comments/5":  func(c *Comments, ctx context.Context) error { return c.Edit(ctx, 5, "text") },
	"DELETE /api/repos/o/r/issues/comments/5": func(c *Comments, ctx context.Context) error { return c.Delete(ctx, 5) },
}

// TestTroubleHasKinds by what the API answers beyond status and header, which package
// forge tests, to whatever it was asked, each question once.
func TestTroubleHasKinds(t *testing.T) {
	reset := time.Unix(time.Now().Unix()+3600, 0)
	soon := fmt.Sprint(reset.Unix())
	const untilReset = -1
	for _, test := range []struct {
		status int
		header string // name=value, separated by blanks
		body   string
		kind   forge.Kind
		wait   time.Duration
		what   string
	}{
		{502, "", "<html>", forge.Unanswered, 0, "502"},
		{503, "Retry-After=7", "", forge.Unanswered, 7 * time.Second, "503"},
		{403, "Retry-After=30", `{"message":"You have exceeded a secondary rate limit"}`, forge.Limited, 30 * time.Second, "rate limit"},
		{403, "", `{"message":"You have exceeded a secondary rate limit"}`, forge.Limited, 0, "rate limit"},
		{403, "", `{"message":"x","documentation_url":"https://docs.github.com/x#secondary-rate-limits"}`, forge.Limited, 0, "rate limit"},
		{403, "X-Ratelimit-Remaining=0 X-Ratelimit-Reset=" + soon, `{"message":"API rate limit exceeded"}`, forge.Limited, untilReset, "rate limit"},
		{429, "X-Ratelimit-Remaining=0 X-Ratelimit-Reset=" + soon, `{}`, forge.Limited, untilReset, "rate limit"},
		{403, "X-Ratelimit-Remaining=5 X-Ratelimit-Reset=" + soon, `{"message":"Resource not accessible by integration"}`, forge.Denied, 0, "Resource not accessible by integration"},
		{410, "", `{"message":"This issue was deleted"}`, forge.Missing, 0, "410"},
		{422, "", `{"message":"Validation Failed"}`, forge.Refused, 0, "Validation Failed"},
		{451, "", `{"message":"` + strings.Repeat("x", 500) + `"}`, forge.Refused, 0, "x…"},
		{200, "", "no JSON", forge.Unanswered, 0, "not the JSON"},
	} {
		for request, ask := range ways {
			f := &forum{status: test.status, body: test.body, header: http.Header{}}
			for _, pair := range strings.Fields(test.header) {
				name, value, _ := strings.Cut(pair, "=")
				f.header.Set(name, value)
			}
			least, most := test.wait, test.wait
			if test.wait == untilReset {
				most = time.Until(reset)
			}
			err := ask(f.comments(t, ""), t.Context())
			if test.wait == untilReset {
				least = time.Until(reset)
			}
			if test.status == 200 && strings.HasPrefix(request, "DELETE") {
				continue // nothing is read
			}
			var e *forge.Error
			if !errors.As(err, &e) || e.Kind != test.kind || e.Wait < least || e.Wait > most || !strings.Contains(e.Error(), test.what) {
				t.Errorf("%d %q %q to %s:\n got %+v\nwant kind %d, %v, %q", test.status, test.header, test.body, request, err, test.kind, most, test.what)
				continue
			}
			if len(f.asked) != 1 || f.asked[0] != request || strings.Contains(e.Error(), "127.0.0.1") || len(e.Error()) > 300 {
				t.Errorf("%d to %s: got %q by %q, want one request, and no address", test.status, request, e.Error(), f.asked)
			}
		}
	}
}

// TestALimitIsNotTriedAgainst: what the library knows of it is told like an
// answer.
func TestALimitIsNotTriedAgainst(t *testing.T) {
	for _, header := range []http.Header{
		{"X-Ratelimit-Limit": {"60"}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {fmt.Sprint(time.Now().Add(time.Hour).Unix())}},
		{"Retry-After": {"3600"}},
	} {
		f := &forum{status: 403, header: header, body: `{"message":"secondary rate limit","documentation_url":"x#secondary-rate-limits"}`}
		c := f.comments(t, "")
		for range 3 {
			err := c.Edit(t.Context(), 5, "text")
			var e *forge.Error
			if !errors.As(err, &e) || e.Kind != forge.Limited || e.Wait < 55*time.Minute || e.Wait > time.Hour {
				t.Errorf("%v: got %+v, want a limit of an hour", header, err)
			}
		}
		if len(f.asked) != 1 {
			t.Errorf("%v: got %q, want one request", header, f.asked)
		}
	}
}

// TestNoConnectionPasses, and neither does an answer without a comment count as
// one.
func TestNoConnectionPasses(t *testing.T) {
	g := clientOf(t, forge.Options{URL: "http://127.0.0.1:1"}) // a port that no test is given
	for request, ask := range ways {
		var e *forge.Error
		if err := ask(g.Comments(7), t.Context()); !errors.As(err, &e) || e.Kind != forge.Unanswered || strings.Contains(e.Error(), "http://") {
			t.Errorf("%s: got %v, want passing trouble without an address", request, err)
		}
	}
	_, err := (&forum{status: 201, body: "{}"}).comments(t, "").Create(t.Context(), "text")
	var e *forge.Error
	if !errors.As(err, &e) || e.Kind != forge.Unanswered {
		t.Errorf("answer without a comment: got %v, want passing trouble", err)
	}
}

// TestSelfIsAskedOf GraphQL, and else REST.
func TestSelfIsAskedOf(t *testing.T) {
	const graphql, user = "POST /api/graphql", "GET /api/user"
	for _, test := range []struct {
		graphql string
		status  int
		body    string
		login   string
		asked   []string
	}{
		{"/api/graphql", 0, `{"data":{"viewer":{"login":"github-actions[bot]"}}}`, "github-actions[bot]", []string{graphql}},
		{"", 0, `{"login":"gitea-actions"}`, "gitea-actions", []string{user}},
		{"/api/graphql", 0, `{"data":null,"errors":[{"message":"x"}],"login":"ann"}`, "ann", []string{graphql, user}},
		{"/api/graphql", 403, `{"message":"x"}`, "", []string{graphql, user}},
		{"/api/graphql", 502, ``, "", []string{graphql}},
		{"http://elsewhere.invalid:80/graphql", 0, `{"login":"ann"}`, "ann", []string{user}},
	} {
		f := &forum{status: max(200, test.status), body: test.body}
		got, err := f.comments(t, test.graphql).Self(t.Context())
		if got != test.login || (err != nil) != (test.login == "") || !slices.Equal(f.asked, test.asked) {
			t.Errorf("%q, %d %s: got %q, %v by %q; want %q by %q", test.graphql, test.status, test.body, got, err, f.asked, test.login, test.asked)
		}
	}
}
