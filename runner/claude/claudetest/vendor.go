package claudetest

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/runner/agenttest"
)

// Key is the API key that the CLI is given.
const Key = "sk-ant-claudetest"

// Vendor is Claude Code for tests that run with each agent CLI.
type Vendor struct{}

var _ agenttest.Vendor = Vendor{}

// Name implements agenttest.Vendor.
func (Vendor) Name() string { return "claude" }

// Install implements agenttest.Vendor.
func (Vendor) Install(t testing.TB) string { return Install(t) }

// Serve implements agenttest.Vendor.
func (Vendor) Serve(t testing.TB, m agenttest.Model) string { return newServer(t, m).URL }

// Flags implements agenttest.Vendor.
func (Vendor) Flags(path string) []string { return []string{"--agent", "claude", "--claude", path} }

// Environ implements agenttest.Vendor. It is a whole environment, with none of the caller's
// variables but PATH. The credential is that of a subscription, since only subscriptions have
// a usage limit.
func (Vendor) Environ(url, home string) []string {
	return append(plainEnv(url), "CLAUDE_CODE_OAUTH_TOKEN="+Key, "HOME="+home, "USERPROFILE="+home)
}

// plainEnv is what every environment of the CLI has.
func plainEnv(url string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"LANG=C.UTF-8",
		"ANTHROPIC_BASE_URL=" + url,
		"NO_PROXY=*",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_TELEMETRY=1",
		"DISABLE_UPDATES=1",
		"CLAUDE_CODE_MAX_RETRIES=1",
		// Without it the CLI refuses to skip permissions as root, which is what
		// tests in containers run as.
		"IS_SANDBOX=1",
	}
}

// asked says what a request shows the model.
func asked(r Request, body []byte) agenttest.Asked {
	var w struct {
		Messages []wireMessage `json:"messages"`
		Tools    []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	a := agenttest.Asked{Model: r.Model, Key: r.APIKey, Body: body}
	if json.Unmarshal(body, &w) != nil {
		return a // newRequest has read it already
	}
	for _, tool := range w.Tools {
		a.Tools = append(a.Tools, tool.Name)
	}
	for _, m := range w.Messages {
		for _, b := range m.Content {
			switch {
			case b.Type == "tool_result":
				a.Output = b.Content.flat()
			case b.Type != "text" || isReminder(b.Text) || m.Role == "system":
			case m.Role == "assistant":
				a.Said = append(a.Said, b.Text)
			default:
				a.Prompts, a.Output = append(a.Prompts, strings.TrimSpace(b.Text)), ""
			}
		}
	}
	return a
}

// replyOf says in the terms of this API what a scripted model answers.
func replyOf(r agenttest.Reply) Reply {
	out := Reply{Status: r.Status, Message: r.Message, Header: map[string]string{}, Hang: r.Hang, Cut: r.Cut}
	if r.RetryAfter != "" {
		out.Header["retry-after"] = r.RetryAfter
	}
	if r.UsageLimit {
		out.Status = 429
		for name, value := range map[string]string{"status": "rejected", "representative-claim": "five_hour", "reset": strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)} {
			out.Header["anthropic-ratelimit-unified-"+name] = value
		}
	}
	if r.Text != "" || r.Shell+r.Write == "" {
		out.Blocks = append(out.Blocks, Text(r.Text))
	}
	if r.Shell != "" {
		out.Blocks = append(out.Blocks, Bash(r.Shell))
	}
	if r.Write != "" {
		out.Blocks = append(out.Blocks, ToolUse("Write", map[string]any{"file_path": r.Write, "content": "written by the model\n"}))
	}
	if r.Input+r.Cached+r.Output > 0 {
		out.Usage = &Usage{Input: r.Input, CacheRead: r.Cached, Output: r.Output}
	}
	return out
}
