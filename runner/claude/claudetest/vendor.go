package claudetest

import (
	"github.com/raymond-action/raymond-action/runner/agenttest"
	"github.com/raymond-action/raymond-action/runner/claude"
)

// Vendor is Claude Code. Its credential is that of a subscription, since only subscriptions have a usage limit.
var Vendor = agenttest.Vendor{Name: "claude", Pin: claude.Pin, Serve: serve, Vars: func(url string) []string {
	return []string{
		"ANTHROPIC_BASE_URL=" + url, "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-claudetest",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_UPDATES=1", "CLAUDE_CODE_MAX_RETRIES=1",
		// Without it the CLI refuses to skip permissions as root, which is what
		// tests in containers run as.
		"IS_SANDBOX=1",
	}
}}
