package geminitest

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/raymond-action/raymond-action/runner/agenttest"
)

// request is the body of a request for the model's next message.
type request struct {
	Contents []message `json:"contents"`
	Tools    []struct {
		Functions []struct {
			Name string `json:"name"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	Config struct {
		Type string `json:"responseMimeType"`
	} `json:"generationConfig"`
}

type message struct {
	Role  string `json:"role"` // "user" or "model"
	Parts []part `json:"parts"`
}

type part struct {
	Text      string `json:"text"`
	IsThought bool   `json:"thought"`
	Brought   *struct {
		Response map[string]any `json:"response"`
	} `json:"functionResponse"`
}

// isRouting reports whether the CLI asks which model it should use: it does so before the first
// request of a prompt, where no model was named.
func (r request) isRouting() bool { return r.Config.Type == "application/json" }

// newRequest reads a request for a model.
func newRequest(model string, h http.Header, body []byte) (request, agenttest.Asked, error) {
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return r, agenttest.Asked{}, err
	}
	a := agenttest.Asked{Model: model, Body: body, Key: h.Get("X-Goog-Api-Key")}
	for _, t := range r.Tools {
		for _, f := range t.Functions {
			a.Tools = append(a.Tools, f.Name)
		}
	}
	for _, m := range r.Contents {
		if m.Role == "model" {
			a.Said, a.Output = append(a.Said, m.said()), ""
			continue
		}
		for _, p := range m.Parts {
			a = p.take(a)
		}
	}
	return r, a, nil
}

// said is what a message of the model says.
func (m message) said() string {
	var texts []string
	for _, p := range m.Parts {
		if p.Text != "" && !p.IsThought {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "")
}

// take returns what is asked with a part of a user's message.
func (p part) take(a agenttest.Asked) agenttest.Asked {
	switch {
	case p.Brought != nil:
		for _, key := range []string{"output", "error"} {
			if text, ok := p.Brought.Response[key].(string); ok {
				a.Output = text
			}
		}
	case p.Text != "" && !isOwn(p.Text):
		a.Prompts, a.Output = append(a.Prompts, p.Text), ""
	}
	return a
}

// isOwn reports whether a user's text is one that the CLI adds by itself.
func isOwn(text string) bool {
	for _, begin := range []string{"<session_context>", "<hook_context>", "System: "} {
		if strings.HasPrefix(strings.TrimSpace(text), begin) {
			return true
		}
	}
	return false
}
