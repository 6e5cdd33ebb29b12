package clitest

import (
	"net/http"
	"regexp"
	"strings"
)

var generates = regexp.MustCompile(`^/v1beta/models/([^/:]+):(?:generateContent|streamGenerateContent)$`)

// contents is the Gemini API.
var contents = api{readContents, contentProblem, answerContent}

func readContents(c *call) (a Request, ok bool) {
	found := generates.FindStringSubmatch(c.r.URL.Path)
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
	ok = c.reads(&q)
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
			p.take(&a)
		}
	}
	if ok && q.GenerationConfig.ResponseMIMEType == "application/json" {
		// The CLI asks which model it should use, in several forms, before the first request of a prompt that names none.
		c.asked, c.Text = a, `{"complexity_reasoning": "scripted", "complexity_score": 10, "reasoning": "scripted", "model_choice": "flash"}`
		answerContent(c)
		return a, false
	}
	return a, ok
}

// take adds a part of a user's message to what is asked.
func (p part) take(a *Request) {
	switch {
	case p.FunctionResponse != nil:
		for _, key := range []string{"output", "error"} {
			if text, ok := p.FunctionResponse.Response[key].(string); ok {
				a.Output = text
			}
		}
	case p.Text != "" && !isOwn(p.Text):
		a.Prompts, a.Output = append(a.Prompts, p.Text), ""
	}
}

func contentProblem(c *call) object {
	var details []object
	if c.UsageLimit {
		details = append(details, object{"@type": "type.googleapis.com/google.rpc.QuotaFailure",
			"violations": []object{{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}}})
	}
	kind := map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}[c.Status]
	return object{"error": object{"code": c.Status, "message": c.Message, "details": details, "status": kind}}
}

// answerContent answers with server-sent events, or at once where no stream is asked for. The API counts what is cached as a part of
// the input, and thoughts beside the output.
func answerContent(c *call) {
	in, cached, out := c.tokens()
	thoughts := min(out, 3)
	piece := func(parts []object, reason any, usage object) object {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}, "finishReason": reason}
		return object{"candidates": []object{candidate}, "usageMetadata": usage, "modelVersion": c.asked.Model}
	}
	parts := []object{}
	if c.Text != "" {
		parts = append(parts, object{"text": c.Text})
	}
	if strings.HasSuffix(c.r.URL.Path, ":streamGenerateContent") && c.Text != "" {
		c.event("", piece(parts, nil, object{"promptTokenCount": in + cached, "totalTokenCount": in + cached}))
		c.hangs()
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
