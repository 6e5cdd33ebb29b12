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

// args returns the command line for an order. Each tool is joined to its flag, because the flag takes several
// values and would swallow the arguments that follow.
func (b *Backend) args(o runner.Order) []string {
	args := []string{
		"-p", "--output-format", "stream-json", "--verbose",
		// Partial messages contain the cost of a response that is cut off.
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
		// A resumed session restores its model, but neither the context window of a model like
		// opus[1m] nor the permission mode.
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
		// The CLI deletes transcripts that are older than 30 days. A suspended run, or a run that is
		// restored from an archive, needs its transcripts for longer.
		args = append(args, `--settings={"cleanupPeriodDays":3650}`)
	}
	return append(args, b.Args...)
}

// backgroundTools are tools that work after the end of the turn, when the process no longer exists. The
// variable that turns off background tasks hides only background shells and subagents.
var backgroundTools = []string{"CronCreate", "Monitor", "RemoteTrigger", "ScheduleWakeup", "Workflow"}

// flagWithValue returns a flag with its value, or nothing for an empty value. A value that looks like a
// flag, which an agent may write into a tag, is joined to its flag.
func flagWithValue(flag, value string) []string {
	switch {
	case value == "":
		return nil
	case strings.HasPrefix(value, "-"):
		return []string{flag + "=" + value}
	}
	return []string{flag, value}
}

// switches are the variables of the CLI that are set unless the base environment sets them.
var switches = []string{
	// Only requests to the messages endpoint; feature flags keep their defaults.
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1",
	// The version must not change between two states of a run.
	"DISABLE_UPDATES=1", "DISABLE_AUTOUPDATER=1",
	// One process has one turn and one result record.
	"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1",
	// Memory would carry text from one run to another that has the same home directory.
	"CLAUDE_CODE_DISABLE_AUTO_MEMORY=1",
	// An @path in a prompt that contains issue text would attach that file.
	"CLAUDE_CODE_DISABLE_ATTACHMENTS=1",
	"CLAUDE_CODE_DISABLE_TERMINAL_TITLE=1",
	// The CLI's own retries keep the work of the turn, which a retry of the invocation loses. With
	// the default of 10 retries, it would take three minutes before the run's own policy (backoff,
	// accounting, usage limits) sees an error. Five retries take about 20 s.
	"CLAUDE_CODE_MAX_RETRIES=5",
}

// nestedVars are variables that mark a process as a child of the CLI. With them, the CLI refuses to
// start or joins the outer session.
var nestedVars = []string{"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID"}

// ownRetries is how long the CLI's own retries take with the variables in switches.
const ownRetries = 20 * time.Second

// env returns the CLI's environment: the switches, then the base environment, then the order's
// variables, where a later entry takes precedence. If the run waits for an overloaded service for a
// shorter time than the CLI would, the CLI doesn't retry at all.
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
