package claude

import (
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/state"
)

// args returns the command line for an order. Each tool is joined to its flag with "=", because the flag
// accepts several values and would otherwise also take the arguments that follow.
func (b *Backend) args(o runner.Order) []string {
	args := []string{
		"-p", "--output-format", "stream-json", "--verbose",
		// With partial messages, the cost of a response that breaks off is known.
		"--include-partial-messages",
	}
	switch o.Prompt.Session {
	case state.Resume:
		args = append(args, "--resume", o.Prompt.SessionID)
	case state.Branch:
		args = append(args, "--resume", o.Prompt.From, "--fork-session", "--session-id", o.Prompt.SessionID)
	default:
		args = append(args, "--session-id", o.Prompt.SessionID)
	}
	for _, f := range [...]struct{ flag, value string }{
		// The CLI restores the model of a resumed session, but not the context window of a model like opus[1m]
		// and not the permission mode.
		{"--model", o.Prompt.Model}, {"--effort", o.Prompt.Effort}, {"--permission-mode", o.Prompt.Permissions.PermissionMode},
	} {
		args = append(args, flagWithValue(f.flag, f.value)...)
	}
	if o.Prompt.Permissions.SkipPermissions {
		args = append(args, "--dangerously-skip-permissions")
	}
	for _, tool := range o.Prompt.Permissions.AllowedTools {
		args = append(args, "--allowedTools="+tool)
	}
	for _, tool := range o.Prompt.Permissions.DisallowedTools {
		args = append(args, "--disallowedTools="+tool)
	}
	if !b.Proxy.AllowsTool(protocol.BackendClaude, "web_search") {
		args = append(args, "--disallowedTools=WebSearch")
	}
	if o.Prompt.BudgetCap > 0 {
		args = append(args, flagWithValue("--max-budget-usd", o.Prompt.BudgetCap.String())...)
	}
	args = append(args, "--disallowedTools="+strings.Join(backgroundTools, ","))
	if b.IsUntrusted {
		args = append(args, "--setting-sources", "user", "--strict-mcp-config")
	}
	if !slices.ContainsFunc(b.Args, func(a string) bool { return a == "--settings" || strings.HasPrefix(a, "--settings=") }) {
		// The CLI deletes transcripts that are older than 30 days. Runs that are suspended or restored from an
		// archive may need their transcripts for longer.
		args = append(args, `--settings={"cleanupPeriodDays":3650}`)
	}
	return append(args, b.Args...)
}

// backgroundTools are tools that do something after the end of the turn, when the process doesn't exist
// any more. They are forbidden by name, because the variable that disables background tasks affects only
// background shells and subagents.
var backgroundTools = []string{"CronCreate", "Monitor", "RemoteTrigger", "ScheduleWakeup", "Workflow"}

// flagWithValue returns a flag and its value. It returns nil if the value is empty. If the value begins
// with "-", it is joined to the flag with "=". Otherwise the CLI would take it for another flag, and values
// can come from tags that an agent wrote.
func flagWithValue(flag, value string) []string {
	switch {
	case value == "":
		return nil
	case strings.HasPrefix(value, "-"):
		return []string{flag + "=" + value}
	}
	return []string{flag, value}
}

// switches are variables for the CLI that are set unless the base environment sets them.
var switches = []string{
	// The CLI sends no requests except to the messages endpoint. Feature flags keep their default values.
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1",
	// The CLI's version must not change between two states of a run.
	"DISABLE_UPDATES=1", "DISABLE_AUTOUPDATER=1",
	// A process must have only one turn and one result record.
	"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1",
	// The CLI's memory would pass text from one run to another run with the same home directory.
	"CLAUDE_CODE_DISABLE_AUTO_MEMORY=1",
	// If a prompt contains text of an issue, an @path in that text would attach a file.
	"CLAUDE_CODE_DISABLE_ATTACHMENTS=1",
	"CLAUDE_CODE_DISABLE_TERMINAL_TITLE=1",
	// The CLI's own retries keep the work of the turn, while a retry of the invocation loses it. The
	// default is ten retries, which take three minutes. Five retries take about 20 seconds. After that, the
	// run's own rules for retries, costs and usage limits apply.
	"CLAUDE_CODE_MAX_RETRIES=5",
}

// nestedVars are variables that mark a process as a child of the CLI. If they are set, the CLI doesn't
// start or joins the outer session, so they are removed.
var nestedVars = []string{"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID"}

// ownRetries is how long the CLI's own retries take if CLAUDE_CODE_MAX_RETRIES has the value in switches.
const ownRetries = 20 * time.Second

// env returns the environment of the CLI: the variables in switches, the base environment and the
// order's variables. Later entries take precedence. If the order's OverloadWait is shorter than
// ownRetries, the CLI's own retries are disabled.
func (b *Backend) env(o runner.Order) []string {
	env := slices.Clone(switches)
	if wait := o.Prompt.OverloadWait; wait > 0 && wait < ownRetries {
		env = append(env, "CLAUDE_CODE_MAX_RETRIES=0")
	}
	env = append(env, program.WithoutVars(b.Env, nestedVars...)...)
	if b.IsSandboxed {
		env = append(env, "IS_SANDBOX=1")
	}
	return append(env, o.Env...)
}
