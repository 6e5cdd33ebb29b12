package keyproxy

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/raymond-action/raymond-action/runner/claude/messages"
)

// toy is an agent CLI whose API has two paths. It counts as the Messages API does.
const toy = "toy"

type toyAPI struct{ name string }

func (a toyAPI) Backend() string       { return a.name }
func (toyAPI) Upstream() string        { return "https://toy.example/api" }
func (toyAPI) Counter(Request) Counter { return &messages.Counter{} }

func (toyAPI) Service(r *http.Request) Service {
	return map[string]Service{"POST /v1/messages": Paid, "POST /v1/count": Free, "GET /v1/messages": Free}[r.Method+" "+r.URL.EscapedPath()]
}

// Read finds nothing in a body that is none of this API.
func (toyAPI) Read(_ *http.Request, body io.Reader) (Request, error) {
	var asked struct {
		Model  string
		Output int64
		Later  bool
		Uses   []string

		Fetches string
		Unknown []string
	}
	if json.NewDecoder(body).Decode(&asked) != nil {
		return Request{}, nil
	}
	if asked.Later {
		return Request{}, errors.New("nobody could count that")
	}
	return Request{Model: asked.Model, Output: asked.Output, Uses: asked.Uses, Fetches: asked.Fetches, Unknown: asked.Unknown}, nil
}

func (toyAPI) Shown(r *http.Request) []string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return []string{r.Header.Get("X-Api-Key"), token}
}

func (toyAPI) Sign(r *http.Request, key Credential) {
	r.Header.Del("Authorization")
	r.Header.Set("X-Api-Key", key.Text)
}

func (a toyAPI) Env(to Access) []string {
	return []string{"TOY_URL=" + to.URL, "TOY_KEY=" + to.Credential}
}

func (toyAPI) Problem(status int, message string) any {
	return map[string]any{"status": status, "error": message}
}

// vendors are the toy's API at a URL.
func vendors(upstream string) []Vendor {
	return []Vendor{{API: toyAPI{toy}, Upstream: upstream, Credential: Credential{Text: realKey}}}
}
