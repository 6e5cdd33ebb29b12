package clitest

import (
	"cmp"
	"crypto/rand"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// openAIAPI is the Responses API, which Codex uses.
var openAIAPI = api{readResponses, openAIError, answerResponse}

// readResponses reads a request of Codex. It answers requests that are not for the model.
func readResponses(c *exchange) (a Request, ok bool) {
	if c.r.Method != http.MethodPost || c.r.URL.Path != "/v1/responses" {
		http.NotFound(c.w, c.r)
		return a, false
	}
	var q struct {
		Model string
		Input []struct {
			Type, Role      string
			Content, Output content // Output is set if Type ends with "_output"
			Tools           []tool  // of an item with the type "additional_tools"
		}
		Tools []tool
	}
	ok = c.decode(&q)
	a.Model, a.Key, a.Tools = q.Model, program.BearerToken(c.r), toolNames(q.Tools)
	for _, item := range q.Input {
		a.Tools = append(a.Tools, toolNames(item.Tools)...)
		switch text := item.Content.text(); {
		case item.Role == "assistant":
			a.ModelTexts, a.Output = append(a.ModelTexts, text), ""
		case item.Role == "user" && text != "":
			a.Prompts, a.Output = append(a.Prompts, text), ""
		case strings.HasSuffix(item.Type, "_output"):
			// The CLI adds a status line of its script to the output of a tool. An empty output is
			// replaced with a text, because "" means that no tool was called.
			blocks := slices.DeleteFunc(item.Output, func(p block) bool {
				return strings.HasPrefix(p.Text, "Script completed\n") || strings.HasPrefix(p.Text, "Script failed\n")
			})
			a.Output = cmp.Or(blocks.text(), "(no output)")
		}
	}
	return a, ok
}

// openAIError returns the body of an error.
func openAIError(c *exchange) object {
	if c.UsageLimit {
		return object{"error": object{
			"type": "usage_limit_reached", "code": nil, "message": c.Message, "plan_type": "plus", "resets_at": time.Now().Add(time.Hour).Unix(),
		}}
	}
	kind := map[int][2]string{
		400: {"invalid_request_error"}, 401: {"invalid_request_error", "invalid_api_key"},
		429: {"requests", "rate_limit_exceeded"}, 503: {"server_error", "server_is_overloaded"},
	}[c.Status]
	return object{"error": object{"type": kind[0], "code": kind[1], "message": c.Message}}
}

// answerResponse sends the reply as a stream.
func answerResponse(c *exchange) {
	id, message := "resp_"+rand.Text(), object{"type": "message", "role": "assistant", "id": "msg_" + rand.Text(), "content": []object{}}
	done := func(item object) { c.event("response.output_item.done", object{"output_index": 0, "item": item}) }
	c.event("response.created", object{"response": object{"id": id}})
	if c.Text != "" || c.Shell+c.Write == "" {
		c.event("response.output_item.added", object{"output_index": 0, "item": message})
		c.event("response.output_text.delta", object{"output_index": 0, "content_index": 0, "delta": c.Text})
		c.hangIfScripted()
		message["content"] = []object{{"type": "output_text", "text": c.Text}}
		done(message)
	}
	if item := c.codexUse(); item != nil {
		item["id"], item["call_id"] = "fc_"+rand.Text(), "call_"+rand.Text()
		done(item)
	}
	in, cached, out := c.tokens() // the API includes cached tokens in the input
	c.event("response.completed", object{"response": object{"id": id, "model": c.request.Model, "usage": object{
		"input_tokens": in + cached, "input_tokens_details": object{"cached_tokens": cached},
		"output_tokens": out, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": in + cached + out,
	}}})
}

// codexUse returns the tool call of the reply, or nil if the reply contains no tool call. If the
// CLI offers the tool exec, the tool call is a script that calls the actual tool.
func (c *exchange) codexUse() object {
	custom := func(name, input string) object {
		return object{"type": "custom_tool_call", "name": name, "input": input}
	}
	patch := "*** Begin Patch\n*** Add File: " + c.Write + "\n+written\n*** End Patch\n"
	switch scripts := slices.Contains(c.request.Tools, "exec"); {
	case c.Shell != "" && scripts:
		return custom("exec", `const r = await tools.exec_command({cmd: `+mustMarshal(c.Shell)+`, yield_time_ms: 30000}); text(r.output)`)
	case c.Shell != "":
		return object{"type": "function_call", "name": "exec_command", "arguments": mustMarshal(object{"cmd": c.Shell})}
	case c.Write != "" && scripts:
		return custom("exec", `const r = await tools.apply_patch(`+mustMarshal(patch)+`); text(JSON.stringify(r))`)
	case c.Write != "":
		return custom("apply_patch", patch)
	}
	return nil
}

// tool is a tool that the CLI offers to the model, or a namespace with several tools.
type tool struct {
	Type, Name, Description string
	Tools                   []tool
}

// scriptedTool matches, in the description of a tool, the names of the tools that scripts can call.
var scriptedTool = regexp.MustCompile("(?m)^### `(\\w+)`")

// toolNames returns the names of all tools, including the tools that only scripts can call.
func toolNames(tools []tool) (names []string) {
	for _, t := range tools {
		if t.Type != "namespace" && t.Name != "" {
			names = append(names, t.Name)
		}
		for _, m := range scriptedTool.FindAllStringSubmatch(t.Description, -1) {
			names = append(names, m[1])
		}
		names = append(names, toolNames(t.Tools)...)
	}
	return names
}
