// Package clitest has what the tests of all agent CLIs share: a model that is scripted
// once, and asked by the real CLIs through the APIs of their makers, which are on loopback here; and,
// with Replay, recordings of what the real CLIs were seen to print.
//
// It knows how each API speaks, and nothing of the backends under test.
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

// Request is one request of a CLI for the model's next message.
type Request struct {
	Model string // that is asked for
	// Prompts are the texts of users in the conversation, the oldest first, without what the
	// CLI adds by itself. Said are the model's own messages.
	Prompts, ModelTexts []string
	// Output is what the tool that the model has used last brought; "" when the newest message
	// is a user's.
	Output string
	// ToolUses counts the uses of tools since the newest prompt, for Claude Code alone.
	ToolUses int
	Tools    []string // that the model may use, by the CLI's names
	Key      string   // the credential that came with the request
	Body     []byte   // the request as it came
}

// LastPrompt is the newest prompt.
func (a Request) LastPrompt() string {
	if len(a.Prompts) == 0 {
		return ""
	}
	return a.Prompts[len(a.Prompts)-1]
}

// Reply is the model's next message, or an error of the API when Status is from 400 on.
type Reply struct {
	Text  string
	Shell string // a command that the model asks for, with the CLI's own tool
	Write string // a path at which it asks for a file, with the CLI's own tool where it has one
	// Use and With are another tool, and what it is given, for Claude Code alone.
	Use  string
	With map[string]any
	// Input, Cached and Output are the tokens that the API reports: of the input without and
	// from the cache, and of the output.
	Input, Cached, Output int

	Status     int
	Message    string // of the error
	UsageLimit bool   // a 429 that means a used up plan, as far as the vendor has such
	Hang       bool   // it goes no further after its first piece, until the client leaves
}

// Model is a scripted model. It may be called by several goroutines at once.
type Model func(Request) Reply

// tokens are those that the API reports.
func (r Reply) tokens() (input, cached, output int) {
	if r.Input+r.Cached+r.Output == 0 {
		return 100, 0, 20
	}
	return r.Input, r.Cached, r.Output
}

// Vendor is an agent CLI with an API of its own, for tests that run with each.
type Vendor struct {
	Name string // one of protocol.Backends
	// Serve starts an API that asks m, until the test ends, and returns its URL.
	Serve func(t testing.TB, m Model) string
	// Vars are the variables with which the CLI uses the API at url.
	Vars func(t testing.TB, url string) []string
	// Command is the agent command that runs the CLI at path; nil where raymond knows the CLI.
	Command func(path string) string
}

// The vendors whose CLIs raymond knows. The credential of Claude Code is that of a subscription, since only
// subscriptions have a usage limit. Gemini CLI is a script for the pinned Node.
var (
	Claude = Vendor{Name: "claude", Serve: messages.serve, Vars: func(_ testing.TB, url string) []string {
		return []string{
			"ANTHROPIC_BASE_URL=" + url, "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-claudetest",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_UPDATES=1", "CLAUDE_CODE_MAX_RETRIES=1",
			// Without it the CLI refuses to skip permissions as root, which is what tests in containers run as.
			"IS_SANDBOX=1",
		}
	}}
	Codex = Vendor{Name: "codex", Serve: responses.serve, Vars: func(_ testing.TB, url string) []string {
		return []string{"OPENAI_BASE_URL=" + url + "/v1", "OPENAI_API_KEY=sk-codextest-0123456789"}
	}}
	Gemini = Vendor{Name: "gemini", Serve: contents.serve, Vars: func(t testing.TB, url string) []string {
		return []string{
			"GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_API_KEY=AIza-geminitest-0123456789abcdefghijklmn",
			"PATH=" + filepath.Dir(installtest.Node(t)) + string(os.PathListSeparator) + os.Getenv("PATH"),
		}
	}}
)

// Install returns the path of the CLI: of the running test, where there is no pin, else of a real one in the version that is pinned
// or that the variable RAYMOND_TEST_ with the vendor's name names: one like "0.61.0". It
// ends the test when there is none, with the command to run. See installtest.CLI.
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

// Flags are those of raymond run with which it uses the CLI at path.
func (v Vendor) Flags(path string) []string {
	if v.Command != nil {
		return []string{"--agent-command", v.Command(path)}
	}
	return []string{"--agent", v.Name, "--" + v.Name, path}
}

// Environ is what the CLI needs in its environment to use the API at url with the home folder home, without anything of this
// machine's user.
func (v Vendor) Environ(t testing.TB, url, home string) []string {
	t.Helper()
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "USERPROFILE=" + home, "LANG=C.UTF-8", "NO_PROXY=*"}, v.Vars(t, url)...)
}
