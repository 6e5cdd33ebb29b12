package codextest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/runner/agenttest"
)

// request is the body of a request for the model's next message.
type request struct {
	Model string `json:"model"`
	Input []item `json:"input"`
	Tools []tool `json:"tools"`
}

type item struct {
	Type    string  `json:"type"`
	Role    string  `json:"role"`
	Content content `json:"content"`
	Output  content `json:"output"` // of an item whose type ends with _output
	Tools   []tool  `json:"tools"`  // of additional_tools
}

// tool is a tool or a namespace of tools.
type tool struct {
	Type        string `json:"type"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Tools       []tool `json:"tools"`
}

// content are texts; on the wire a string stands for one.
type content []string

// UnmarshalJSON implements json.Unmarshaler.
func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content{text}
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	err := json.Unmarshal(data, &parts)
	for _, p := range parts {
		*c = append(*c, p.Text)
	}
	return err
}

// newRequest reads a request.
func newRequest(h http.Header, body []byte) (request, agenttest.Asked, error) {
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return r, agenttest.Asked{}, err
	}
	a := agenttest.Asked{
		Model: r.Model, Body: body, Key: strings.TrimPrefix(h.Get("Authorization"), "Bearer "), Tools: r.tools(),
	}
	for _, it := range r.Input {
		switch text := strings.Join(it.Content, "\n"); {
		case it.Role == "assistant":
			a.Said, a.Output = append(a.Said, text), ""
		case it.Role == "user" && !isOwn(text):
			a.Prompts, a.Output = append(a.Prompts, text), ""
		case strings.HasSuffix(it.Type, "_output"):
			a.Output = it.output()
		}
	}
	return r, a, nil
}

// isOwn reports whether a user's message is one that the CLI adds by itself.
func isOwn(text string) bool {
	for _, begin := range []string{"<environment_context>", "<user_instructions>", "<turn_aborted>", "# AGENTS.md", "Another language model"} {
		if strings.HasPrefix(strings.TrimSpace(text), begin) {
			return true
		}
	}
	return false
}

// output is what a tool brought, without what the CLI says of the script that used it. It is
// never empty, so that it can be told from none.
func (i item) output() string {
	parts := slices.DeleteFunc(slices.Clone(i.Output), func(s string) bool {
		return strings.HasPrefix(s, "Script completed\n") || strings.HasPrefix(s, "Script failed\n")
	})
	return cmp.Or(strings.Join(parts, "\n"), "(no output)")
}

// tools are the names of all tools, those of scripts too, which are in a description.
func (r request) tools() []string {
	var names []string
	var add func(list []tool)
	add = func(list []tool) {
		for _, t := range list {
			if t.Type != "namespace" && t.Name != "" {
				names = append(names, t.Name)
			}
			for _, m := range scripted.FindAllStringSubmatch(t.Description, -1) {
				names = append(names, m[1])
			}
			add(t.Tools)
		}
	}
	add(r.Tools)
	for _, it := range r.Input {
		add(it.Tools)
	}
	return names
}

var scripted = regexp.MustCompile("(?m)^### `(\\w+)`")
