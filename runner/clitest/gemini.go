package clitest

import (
	"net/http"
	"regexp"
	"strings"
)

// generatePath matches the path of a request to a model.
var generatePath = regexp.MustCompile(`^/v1beta/models/([^/:]+):(?:generateContent|streamGenerateContent)$`)

// geminiAPI is the Gemini API, which Gemini CLI uses.
var geminiAPI = api{readContents, geminiError, answerContent}

// readContents reads a request of Gemini CLI. It answers requests that are not for the model.
func readContents(c *exchange) (a Request, ok bool) {
	found := generatePath.FindStringSubmatch(c.r.URL.Path)
	if c.r.Method != http.MethodPost || found == nil {
		http.NotFound(c.w, c.r)
		return a, false
	}
	var q struct {
		Contents []struct {
			Role  string // "user" or "model"
			Parts content
		}
		Tools            []struct{ FunctionDeclarations []struct{ Name string } }
		GenerationConfig struct{ ResponseMIMEType string }
	}
	ok = c.decode(&q)
	a.Model, a.Key = found[1], c.r.Header.Get("X-Goog-Api-Key")
	for _, t := range q.Tools {
		for _, f := range t.FunctionDeclarations {
			a.Tools = append(a.Tools, f.Name)
		}
	}
	for _, m := range q.Contents {
		if m.Role == "model" {
			a.ModelTexts, a.Output = append(a.ModelTexts, m.Parts.text()), ""
			continue
		}
		for _, p := range m.Parts {
			p.addTo(&a)
		}
	}
	if ok && q.GenerationConfig.ResponseMIMEType == "application/json" {
		// If no model is set, the CLI sends a request before the first prompt in which it asks
		// which model to use. This reply is valid for all forms of that request.
		c.request, c.Text = a, `{"complexity_reasoning": "scripted", "complexity_score": 10, "reasoning": "scripted", "model_choice": "flash"}`
		answerContent(c)
		return a, false
	}
	return a, ok
}

// addTo adds a content block of a user's message to the request a.
func (p block) addTo(a *Request) {
	switch {
	case p.FunctionResponse != nil:
		for _, key := range []string{"output", "error"} {
			if text, ok := p.FunctionResponse.Response[key].(string); ok {
				a.Output = text
			}
		}
	case p.Text != "" && !isAddedByCLI(p.Text):
		a.Prompts, a.Output = append(a.Prompts, p.Text), ""
	}
}

// geminiError returns the body of an error.
func geminiError(c *exchange) object {
	var details []object
	if c.UsageLimit {
		details = append(details, object{"@type": "type.googleapis.com/google.rpc.QuotaFailure",
			"violations": []object{{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}}})
	}
	kind := map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}[c.Status]
	return object{"error": object{"code": c.Status, "message": c.Message, "details": details, "status": kind}}
}

// answerContent sends the reply: as server-sent events if the request asks for a stream, otherwise
// as one object. The API includes cached tokens in the input tokens, but does not include thoughts
// in the output tokens.
func answerContent(c *exchange) {
	in, cached, out := c.tokens()
	thoughts := min(out, 3)
	piece := func(parts []object, reason any, usage object) object {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}, "finishReason": reason}
		return object{"candidates": []object{candidate}, "usageMetadata": usage, "modelVersion": c.request.Model}
	}
	parts := []object{}
	if c.Text != "" {
		parts = append(parts, object{"text": c.Text})
	}
	if strings.HasSuffix(c.r.URL.Path, ":streamGenerateContent") && c.Text != "" {
		c.event("", piece(parts, nil, object{"promptTokenCount": in + cached, "totalTokenCount": in + cached}))
		c.hangIfScripted()
		parts = []object{}
	}
	use := func(name string, args object) {
		parts = append(parts, object{"functionCall": object{"name": name, "args": args}})
	}
	if c.Shell != "" {
		use("run_shell_command", object{"command": c.Shell, "description": "scripted"})
	}
	if c.Write != "" {
		use("write_file", object{"file_path": c.Write, "content": "written\n"})
	}
	last := piece(parts, "STOP", object{
		"promptTokenCount": in + cached, "cachedContentTokenCount": cached, "candidatesTokenCount": out - thoughts,
		"thoughtsTokenCount": thoughts, "totalTokenCount": in + cached + out,
	})
	if strings.HasSuffix(c.r.URL.Path, ":streamGenerateContent") {
		c.event("", last)
		return
	}
	c.send(http.StatusOK, last)
}
