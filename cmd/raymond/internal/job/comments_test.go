package job

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// TestCommentsAreListedPageByPage checks that all pages are read, up to maxPages, which is more than
// GitHub has.
func TestCommentsAreListedPageByPage(t *testing.T) {
	for pages, want := range map[int]int{1: 1, 4: 4, 99: maxPages} {
		list, err := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			page, err := strconv.Atoi(r.URL.Query().Get("page"))
			if err != nil || r.URL.Query().Get("per_page") != "100" {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			if page < pages {
				w.Header().Set("Link", fmt.Sprintf(`<http://%s%s?page=%d>; rel="last"`, r.Host, r.URL.Path, pages))
			}
			fmt.Fprintf(w, `[{"id":%d,"body":"of page %d","user":{"login":"ann"}},{"id":%d}]`, page*10, page, page*10+1)
		}), "").ListIssueComments(t.Context(), 7)
		assert.NilError(t, err, "%d pages", pages)
		assert.Assert(t, is.Len(list, 2*want), "%d pages", pages)
		for i := 0; i < len(list); i += 2 {
			page := int64(i/2 + 1)
			one := Comment{Kind: IssueComment, ID: page * 10, Number: 7, Author: Account{Login: "ann"}, Body: fmt.Sprintf("of page %d", page)}
			assert.Check(t, is.Equal(list[i], one), "%d pages", pages)
			assert.Check(t, is.Equal(list[i+1], (Comment{Kind: IssueComment, ID: page*10 + 1, Number: 7})), "%d pages", pages)
		}
	}
}

// ways are functions that make requests about comments, by the expected request.
var ways = map[string]func(*GitHub, context.Context) error{
	"GET /api/v3/repos/o/r/issues/7/comments?page=1&per_page=100": func(g *GitHub, ctx context.Context) error {
		_, err := g.ListIssueComments(ctx, 7)
		return err
	},
	"POST /api/v3/repos/o/r/issues/7/comments": func(g *GitHub, ctx context.Context) error {
		_, err := g.CreateComment(ctx, 7, "text")
		return err
	},
	"PATCH /api/v3/repos/o/r/issues/comments/5":  func(g *GitHub, ctx context.Context) error { return g.EditComment(ctx, 5, "text") },
	"DELETE /api/v3/repos/o/r/issues/comments/5": func(g *GitHub, ctx context.Context) error { return g.DeleteComment(ctx, 5) },
}

// TestErrorsHaveKinds checks that the kind of an error depends only on the API's response, not on the
// request, and that each request is made only once. Package forge tests the mapping in detail.
func TestErrorsHaveKinds(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
		kind   forge.Kind
		what   string
	}{
		{502, "<html>", forge.Unanswered, "502"},
		{403, `{"message":"You have exceeded a secondary rate limit"}`, forge.Limited, "rate limit"},
		{403, `{"message":"Resource not accessible by integration"}`, forge.Denied, "Resource not accessible by integration"},
		{410, `{"message":"This issue was deleted"}`, forge.Missing, "410"},
		{451, `{"message":"` + strings.Repeat("x", 500) + `"}`, forge.Refused, "x…"},
	} {
		for request, ask := range ways {
			f := &api{answer: fmt.Sprint(test.status, " ", test.body)}
			err := ask(clientOf(t, f, ""), t.Context())
			var e *forge.Error
			if !errors.As(err, &e) || e.Kind != test.kind || !strings.Contains(e.Error(), test.what) {
				t.Errorf("%d %q to %s: got %+v, want kind %d, %q", test.status, test.body, request, err, test.kind, test.what)
				continue
			}
			if len(f.requests) != 1 || f.requests[0] != request+" Bearer ghs_x" || strings.Contains(e.Error(), "127.0.0.1") || len(e.Error()) > 300 {
				t.Errorf("%d to %s: got %q by %q, want one request, and no address", test.status, request, e.Error(), f.requests)
			}
		}
	}
}

// TestOwnLoginIsReadFromTheAPI checks that the login is read from the GraphQL API, or else from the REST API.
func TestOwnLoginIsReadFromTheAPI(t *testing.T) {
	const graphql, user = "POST /api/graphql Bearer ghs_x", "GET /api/v3/user Bearer ghs_x"
	for _, test := range []struct {
		graphql  string
		status   int
		body     string
		login    string
		requests []string
	}{
		{"/api/graphql", 0, `{"data":{"viewer":{"login":"github-actions[bot]"}}}`, "github-actions[bot]", []string{graphql}},
		{"", 0, `{"login":"gitea-actions"}`, "gitea-actions", []string{user}},
		{"/api/graphql", 0, `{"data":null,"errors":[{"message":"x"}],"login":"ann"}`, "ann", []string{graphql, user}},
		{"/api/graphql", 403, `{"message":"x"}`, "", []string{graphql, user}},
		{"/api/graphql", 502, ``, "", []string{graphql}},
		{"http://elsewhere.invalid:80/graphql", 0, `{"login":"ann"}`, "ann", []string{user}},
	} {
		f := &api{answer: fmt.Sprint(max(200, test.status), " ", test.body)}
		got, err := clientOf(t, f, test.graphql).OwnLogin(t.Context())
		if got != test.login || (err != nil) != (test.login == "") || !slices.Equal(f.requests, test.requests) {
			t.Errorf("%q, %d %s: got %q, %v by %q; want %q by %q", test.graphql, test.status, test.body, got, err, f.requests, test.login, test.requests)
		}
	}
}
