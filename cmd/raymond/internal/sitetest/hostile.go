package sitetest

import "strings"

// Hostile is text in which a runner, a library or a terminal could see commands, delimiters or
// escape sequences.
var Hostile = strings.Join([]string{
	"::error::injected", "::set-output name=result::injected", "::set-output name=evil::injected", "::add-mask::e", "::add-mask::a",
	"::stop-commands::e", "\r::error::injected", "x\r::warning::injected", "\u2003::notice::injected", "\u00a0 ::error::injected",
	"##[error]injected", "text ##[set-output name=evil;]injected", "\x00::error::injected", "\x1b[2J\x1b]0;title\x07::error::injected",
	"\u200b::error::injected", "::save-state name=x::injected", "::group::injected", "::add-path::/injected", "%0A::error::injected",
	// Delimiters of go-githubactions and of other tools.
	"_GitHubActionsFileCommandDelimeter_", "evil=injected", "evil<<EOF", "injected", "EOF", "ghadelimiter_0", "end_0",
	"```", "<!-- injected --><script>injected</script>", "| a | b |", "</details>", "\xff\xfe\xc3\x28 no UTF-8", "\u202einjected",
}, "\n")
