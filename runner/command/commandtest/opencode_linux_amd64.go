//go:build world

package commandtest

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner/clitest"
)

//go:embed package.json package-lock.json
var files embed.FS

// OpenCode returns the directory that contains the pinned OpenCode program, for use in PATH. The first
// call on a machine installs the program with npm. No install script is run: package.json names the
// package for this platform, which needs none.
func OpenCode(t testing.TB) string {
	t.Helper()
	dir := installtest.NPM{Name: "opencode", Files: files, Dir: "runner/command/commandtest"}.Install(t)
	found, err := fs.Glob(os.DirFS(dir), "node_modules/opencode-*/bin")
	if err != nil || len(found) != 1 {
		t.Fatalf("programs of OpenCode below %s: got %q, %v, want one", dir, found, err)
	}
	return filepath.Join(dir, filepath.FromSlash(found[0]))
}

// OpenCodeEnviron returns an environment in which OpenCode uses the API at url and the home directory
// home. It sends no other requests. OpenCodeEnviron writes OpenCode's configuration file into home.
func OpenCodeEnviron(url, home string) []string {
	config := fmt.Sprintf(`{"model": "scripted/m1", "provider": {"scripted": {"npm": "@ai-sdk/openai-compatible",
		"options": {"baseURL": %q, "apiKey": "k"}, "models": {
			"m1": {"cost": {"input": 1, "output": 2, "cache_read": 0.1}, "limit": {"context": 100000, "output": 4000}},
			"free": {"limit": {"context": 100000, "output": 4000}}}}}}`, url)
	file := filepath.Join(home, "opencode.json")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		panic(err)
	}
	return []string{
		"HOME=" + home, "LANG=C.UTF-8", "NO_PROXY=*", "OPENCODE_CONFIG=" + file,
		"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
	}
}

// Chat starts a chat completions API and returns its URL. The model m chooses the responses. If m
// requests a shell command, the response calls OpenCode's bash tool. The API runs until the test ends.
func Chat(t testing.TB, m clitest.Model) string {
	t.Helper()
	return clitest.Serve(t, func(w http.ResponseWriter, _ *http.Request, body []byte) {
		var q chat
		if err := json.Unmarshal(body, &q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		completion(w, q.Model, m(q.modelInput()))
	})
}

// chat contains the fields of a chat completions request that a Model needs.
type chat struct {
	Model    string
	Messages []struct {
		Role    string
		Content any // a string, or a list of parts
	}
	Tools []struct{ Function struct{ Name string } }
}

// modelInput converts the request into the input of a Model.
func (q chat) modelInput() clitest.Request {
	a := clitest.Request{Model: q.Model}
	for _, m := range q.Messages {
		text, isText := m.Content.(string)
		if parts, ok := m.Content.([]any); ok && !isText {
			for _, p := range parts {
				if part, ok := p.(map[string]any); ok {
					piece, _ := part["text"].(string)
					text += piece
				}
			}
		}
		a.Output = ""
		switch m.Role {
		case "user":
			a.Prompts = append(a.Prompts, text)
		case "assistant":
			a.ModelTexts = append(a.ModelTexts, text)
		case "tool":
			a.Output = text
		}
	}
	for _, tool := range q.Tools {
		a.Tools = append(a.Tools, tool.Function.Name)
	}
	return a
}

// object is a JSON object.
type object = map[string]any

// completion sends the Model's reply as a stream of chunks, or as an error.
func completion(w http.ResponseWriter, model string, r clitest.Reply) {
	if r.Status >= 400 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(r.Status)
		_ = json.NewEncoder(w).Encode(object{"error": object{"message": r.Message}})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	delta, reason := object{"role": "assistant", "content": r.Text}, "stop"
	if r.Shell != "" {
		input, err := json.Marshal(object{"command": r.Shell, "description": "test"})
		if err != nil {
			panic(err)
		}
		reason = "tool_calls"
		delta["tool_calls"] = []object{{"index": 0, "id": "t1", "type": "function", "function": object{"name": "bash", "arguments": string(input)}}}
	}
	for _, chunk := range []object{
		{"choices": []object{{"index": 0, "delta": delta}}},
		{"choices": []object{{"index": 0, "delta": object{}, "finish_reason": reason}}},
		{"choices": []object{}, "usage": object{
			"prompt_tokens": r.Input + r.Cached, "completion_tokens": r.Output, "total_tokens": r.Input + r.Cached + r.Output,
			"prompt_tokens_details": object{"cached_tokens": r.Cached},
		}},
	} {
		chunk["id"], chunk["object"], chunk["created"], chunk["model"] = "c1", "chat.completion.chunk", 1, model
		data, err := json.Marshal(chunk)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}
