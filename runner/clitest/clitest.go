// Package clitest contains helpers for the tests of all agent CLIs. A scripted model answers the real
// CLIs, which call it through an imitation of their vendor's API on a local server. Replay runs a
// backend on recorded output of the real CLIs.
//
// The package knows the protocol of each API, but it does not depend on the backends under test.
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

// Request is a request in which a CLI asks for the model's next message.
type Request struct {
	Model string // requested model
	// Prompts are the user's messages in the conversation, oldest first, without the texts that the
	// CLI has added. ModelTexts are the messages of the model.
	Prompts, ModelTexts []string
	// Output is the result of the last tool call, or empty if the user has sent a message since
	// then.
	Output string
	// ToolUses is the number of tool calls since the newest prompt. It is only set for Claude Code.
	ToolUses int
	// Tools are the names of the tools that the model may call, as the CLI names them.
	Tools []string
	Key   string // credential that the CLI has sent
	Body  []byte // raw request body
}

// LastPrompt returns the newest prompt, or "" if Prompts is empty.
func (a Request) LastPrompt() string {
	if len(a.Prompts) == 0 {
		return ""
	}
	return a.Prompts[len(a.Prompts)-1]
}

// Reply is the next message of the model. If Status is 400 or above, it is an error of the API.
type Reply struct {
	Text string
	// Shell is a shell command that the model runs with the CLI's own tool.
	Shell string
	// Write is the path of a file that the model writes, with the CLI's own tool if it has one.
	Write string
	// Use and With are the name and the input of another tool that the model calls. They only work
	// for Claude Code.
	Use  string
	With map[string]any
	// Input, Cached and Output are the numbers of tokens that the API reports: input that was not
	// read from the cache, input that was read from it, and output. If all are 0, the API reports
	// default numbers.
	Input, Cached, Output int

	Status  int
	Message string // message of the error if Status is 400 or above
	// UsageLimit is set if an error with status 429 means that the usage limit of a plan is
	// reached. It has no effect if the vendor's API doesn't have this error.
	UsageLimit bool
	// Hang makes the response stop after its first chunk until the client disconnects.
	Hang bool
}

// Model is a scripted model. It may be called by several goroutines at the same time.
type Model func(Request) Reply

// tokens returns the numbers of tokens that the API reports.
func (r Reply) tokens() (input, cached, output int) {
	if r.Input+r.Cached+r.Output == 0 {
		return 100, 0, 20
	}
	return r.Input, r.Cached, r.Output
}

// Vendor is an agent CLI and an imitation of its vendor's API.
type Vendor struct {
	Name string // one of protocol.Backends
	// Serve starts a server with the API, which gets its replies from m, and returns the URL of the
	// server. The server stops when the test ends.
	Serve func(t testing.TB, m Model) string
	// Vars returns the environment variables that make the CLI use the API at a URL.
	Vars func(t testing.TB, url string) []string
	// Command returns the agent command that runs the CLI at a path. It is nil for a CLI that
	// raymond supports directly.
	Command func(path string) string
}

// The vendors of the CLIs that raymond supports. Claude Code gets the credential of a subscription,
// since only subscriptions have a usage limit. Gemini CLI is a script, so it needs the pinned Node
// on PATH.
var (
	Claude = Vendor{Name: "claude", Serve: anthropicAPI.serve, Vars: func(_ testing.TB, url string) []string {
		return []string{
			"ANTHROPIC_BASE_URL=" + url, "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-claudetest",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_UPDATES=1", "CLAUDE_CODE_MAX_RETRIES=1",
			// In test containers, tests run as root. There, the CLI skips permissions only with
			// this variable.
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

// Install returns the path of the CLI's program. It installs the pinned version, or the version
// that an environment variable such as RAYMOND_TEST_GEMINI sets, for example "0.61.0". If pin is
// nil, Install returns the path of the running test binary. If the CLI can't be used because it is
// not installed, it fails the test with a message that contains the install command; see
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

// Environ returns an environment in which the CLI uses the API at url and the home folder home. It
// contains no settings of the user of this machine.
func (v Vendor) Environ(t testing.TB, url, home string) []string {
	t.Helper()
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "USERPROFILE=" + home, "LANG=C.UTF-8", "NO_PROXY=*"}, v.Vars(t, url)...)
}
