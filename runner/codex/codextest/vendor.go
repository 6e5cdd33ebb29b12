package codextest

import (
	"github.com/raymond-action/raymond-action/runner/agenttest"
	"github.com/raymond-action/raymond-action/runner/codex"
)

// Vendor is Codex.
var Vendor = agenttest.Vendor{Name: "codex", Pin: codex.Pin, Serve: serve, Vars: func(url string) []string {
	return []string{"OPENAI_BASE_URL=" + url + "/v1", "OPENAI_API_KEY=sk-codextest-0123456789"}
}}
