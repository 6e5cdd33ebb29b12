// Package clitest contains test helpers for all agent CLIs: a scripted model, which the real
// CLIs call through their vendors' APIs, served on loopback; and Replay, which checks recorded
// output of the real CLIs.
//
// It knows the protocol of each API, but not the backends under test.
package clitest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// Request is a request of a CLI for the model's next message.
type Request struct {
	Model string // requested model
	// Prompts are the user's messages in the conversation, oldest first, without the texts that the
	// CLI adds. ModelTexts are the model's own messages.
	Prompts, ModelTexts []string
	// Output is the result of the last tool use; "" if a user's message is newer.
	Output string
	// ToolUses counts the tool uses since the newest prompt. It is set for Claude Code only.
	ToolUses int
	Tools    []string // names of the tools that the model may use, as the CLI calls them
	Key      string   // credential in the request
	Body     []byte   // raw request body
}

// LastPrompt returns the newest prompt.
func (a Request) LastPrompt() string {
	if len(a.Prompts) == 0 {
		return ""
	}
	return a.Prompts[len(a.Prompts)-1]
}

// Reply is the model's next message, or an error of the API if Status is 400 or above.
type Reply struct {
	Text  string
	Shell string // shell command that the model runs with the CLI's own tool
	Write string // path of a file that the model writes, with the CLI's own tool if it has one
	// Use and With are the name and the input of any other tool. They work for Claude Code only.
	Use  string
	With map[string]any
	// Input, Cached and Output are the tokens that the API reports: input not read from the cache,
	// input read from the cache, and output. If all are 0, tokens returns defaults.
	Input, Cached, Output int

	Status     int
	Message    string // error message
	UsageLimit bool   // a 429 error means an exhausted plan, if the vendor has this error
	Hang       bool   // the response stops after its first chunk until the client disconnects
}

// Model is a scripted model. Several goroutines may call it at once.
type Model func(Request) Reply

// tokens returns the token counts that the API reports.
func (r Reply) tokens() (input, cached, output int) {
	if r.Input+r.Cached+r.Output == 0 {
		return 100, 0, 20
	}
	return r.Input, r.Cached, r.Output
}

// Vendor is an agent CLI together with the API of its vendor.
type Vendor struct {
	Name string // one of protocol.Backends
	// Serve starts an API that gets its replies from m, and returns its URL. It stops when the test
	// ends.
	Serve func(t testing.TB, m Model) string
	// Vars returns the environment variables that make the CLI use the API at url.
	Vars func(t testing.TB, url string) []string
	// Command returns the agent command that runs the CLI at path. It is nil if raymond supports
	// the CLI directly.
	Command func(path string) string
}

// The vendors whose CLIs raymond supports. Claude Code gets the credential of a subscription, since
// only subscriptions have a usage limit. Gemini CLI is a script that runs on the pinned Node.
var (
	Claude = Vendor{Name: "claude", Serve: anthropicAPI.serve, Vars: func(_ testing.TB, url string) []string {
		return []string{
			"ANTHROPIC_BASE_URL=" + url, "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-claudetest",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_UPDATES=1", "CLAUDE_CODE_MAX_RETRIES=1",
			// As root, as in test containers, the CLI skips permissions only with this variable.
			"IS_SANDBOX=1",
		}
	}}
	Codex = Vendor{Name: "codex", Serve: openAIAPI.serve, Vars: func(_ testing.TB, url string) []string {
		return []string{"OPENAI_BASE_URL=" + url + "/v1", "OPENAI_API_KEY=sk-codextest-0123456789"}
	}}
	Gemini = Vendor{Name: "gemini", Serve: geminiAPI.serve, Vars: func(t testing.TB, url string) []string {
		return []string{
			"GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_API_KEY=AIza-geminitest-0123456789abcdefghijklmn",
			"PATH=" + filepath.Dir(installtest.Node(t)) + string(os.PathListSeparator) + os.Getenv("PATH"),
		}
	}}
)

// Install returns the path of the CLI. It installs the pinned version, or the one that the variable
// RAYMOND_TEST_ followed by the vendor's name sets, such as "0.61.0". Without a pin it returns the
// running test binary. If the CLI is not installed, it fails the test with the install command; see
// installtest.CLI.
func (v Vendor) Install(t testing.TB, pin *program.Pin) string {
	t.Helper()
	if pin == nil {
		path, err := os.Executable()
		assert.NilError(t, err)
		return path
	}
	cli := installtest.CLI{
		Name: v.Name, Package: pin.Package, Pinned: pin.Version(), Files: pin.Files, Dir: "runner/" + v.Name + "/npm", Var: "RAYMOND_TEST_" + strings.ToUpper(v.Name),
	}
	path, err := pin.Binary(cli.Install(t))
	assert.NilError(t, err)
	return path
}

// Flags returns the flags of "raymond run" that select the CLI at path.
func (v Vendor) Flags(path string) []string {
	if v.Command != nil {
		return []string{"--agent-command", v.Command(path)}
	}
	return []string{"--agent", v.Name, "--" + v.Name, path}
}

// Environ returns an environment in which the CLI uses the API at url and the home folder home, and
// nothing of this machine's user.
func (v Vendor) Environ(t testing.TB, url, home string) []string {
	t.Helper()
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "USERPROFILE=" + home, "LANG=C.UTF-8", "NO_PROXY=*"}, v.Vars(t, url)...)
}
