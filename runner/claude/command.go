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

// args returns the command line for an order. Tools are joined to their flag,
// which takes several values and would swallow what follows.
func (b *Backend) args(o runner.Order) []string {
	args := []string{
		"-p", "--output-format", "stream-json", "--verbose",
		// The pieces of answers tell what was paid for one that is cut off.
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
		// A resumed session brings back its model, but neither the context window
		// of a model like opus[1m] nor the permission mode.
		{"--model", o.Prompt.Model}, {"--effort", o.Prompt.Effort}, {"--permission-mode", o.Prompt.Permissions.PermissionMode},
	} {
		args = append(args, valued(f.flag, f.value)...)
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
		args = append(args, valued("--max-budget-usd", o.Prompt.BudgetCap.String())...)
	}
	args = append(args, "--disallowedTools="+strings.Join(laterTools, ","))
	if b.IsUntrusted {
		args = append(args, "--setting-sources", "user", "--strict-mcp-config")
	}
	if !slices.ContainsFunc(b.Args, func(a string) bool { return a == "--settings" || strings.HasPrefix(a, "--settings=") }) {
		// The CLI deletes transcripts older than 30 days; a suspended run, or one
		// restored from an archive, needs its own for longer.
		args = append(args, `--settings={"cleanupPeriodDays":3650}`)
	}
	return append(args, b.Args...)
}

// laterTools are the tools that do their work after the end of the turn, when the process is gone. The
// switch for background tasks hides only those of shells and subagents.
var laterTools = []string{"CronCreate", "Monitor", "RemoteTrigger", "ScheduleWakeup", "Workflow"}

// valued returns a flag with its value, nothing without a value. One that could
// pass for a flag of its own, as an agent may write into a tag, is joined to its
// flag.
func valued(flag, value string) []string {
	switch {
	case value == "":
		return nil
	case strings.HasPrefix(value, "-"):
		return []string{flag + "=" + value}
	}
	return []string{flag, value}
}

// switches are set in the CLI's environment unless the base environment sets
// them.
var switches = []string{
	// Nothing but the messages endpoint; feature flags stay at their defaults.
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1",
	// The version must not change between two states of a run.
	"DISABLE_UPDATES=1", "DISABLE_AUTOUPDATER=1",
	// One process, one turn, one result record.
	"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1",
	// Text would pass between runs that share a home folder.
	"CLAUDE_CODE_DISABLE_AUTO_MEMORY=1",
	// An @path in a prompt made of issue text would attach that file.
	"CLAUDE_CODE_DISABLE_ATTACHMENTS=1",
	"CLAUDE_CODE_DISABLE_TERMINAL_TITLE=1",
	// The CLI's own retries keep the work of the turn, which a retry of the
	// invocation throws away, so it gets some; with the default of 10 it would
	// spend three minutes on an error before the run's policy (backoff, ledger,
	// usage limits) hears of it. Five are about 20 s.
	"CLAUDE_CODE_MAX_RETRIES=5",
}

// nested marks a process as a child of the CLI, which then refuses to start or
// takes itself to be a part of the outer session.
var nested = []string{"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID"}

// ownRetries is how long the CLI's own retries take with the variables in switches.
const ownRetries = 20 * time.Second

// env returns the CLI's environment: the switches, the base environment over them, and the order's own variables over both.
// If the run waits for the service for a shorter time than the CLI would, the CLI does not retry at all.
func (b *Backend) env(o runner.Order) []string {
	env := slices.Clone(switches)
	if wait := o.Prompt.OverloadWait; wait > 0 && wait < ownRetries {
		env = append(env, "CLAUDE_CODE_MAX_RETRIES=0")
	}
	env = append(env, program.WithoutVars(b.Env, nested...)...)
	if b.IsSandboxed {
		env = append(env, "IS_SANDBOX=1")
	}
	return append(env, o.Env...)
}
