package codex

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// Environment variables with the API's URL and key. The CLI itself ignores the first one.
const (
	baseVar     = "OPENAI_BASE_URL"
	keyVar      = "OPENAI_API_KEY"
	otherKeyVar = "CODEX_API_KEY"
)

// args returns the command line for a turn. env is the complete environment of the process.
func (b *Backend) args(t turn, env []string, more ...string) []string {
	args := []string{"exec"}
	if t.resumed != "" {
		args = append(args, "resume")
	}
	args = append(args, "--json", "--skip-git-repo-check")
	for _, s := range slices.Concat(fixedSettings, providerSettings(env), b.distrustSettings(t.dir), t.may.settings(), more) {
		args = append(args, "-c", s)
	}
	if t.effort != "" {
		args = append(args, "-c", setting("model_reasoning_effort", t.effort))
	}
	if t.model != "" {
		// With "=", a model name that an agent wrote into a tag can't be read as a flag.
		args = append(args, "--model="+t.model)
	}
	if t.resumed != "" {
		args = append(args, t.resumed)
	}
	return append(args, "-") // read the prompt from stdin
}

// fixedSettings are the settings of every invocation. A dotted name leaves the user's other
// settings in the same table unchanged.
var fixedSettings = []string{
	// No user can approve anything.
	setting("approval_policy", "never"),
	// Connect to nothing but the API: no update check, no plugins from GitHub, no analytics.
	"check_for_update_on_startup=false", "analytics.enabled=false", "features.plugins=false", "features.apps=false",
	// Memories would carry text between runs that share a home folder.
	"features.memories=false",
	// One process runs one turn.
	"features.goals=false",
	// The CLI doesn't count the tokens of subagents, which may use other models.
	"agents.enabled=false",
	// The run's own policy (backoff, ledger, usage limits) must see a persistent error.
	"features.unbounded_connection_retries=false",
}

// providerSettings returns the settings that make the CLI call the API over HTTP with a key. The
// CLI's built-in provider accepts no other URL and tries a WebSocket first. Without a key it
// returns nil: the CLI uses its own login.
func providerSettings(env []string) []string {
	key := keyVar
	if program.Variable(env, keyVar) == "" {
		key = otherKeyVar
	}
	if program.Variable(env, key) == "" {
		return nil
	}
	base := program.Variable(env, baseVar)
	if base == "" {
		base = upstream
	}
	const of = "model_providers.raymond."
	return []string{
		setting("model_provider", "raymond"), setting(of+"name", "raymond"), setting(of+"base_url", base), setting(of+"env_key", key),
		setting(of+"wire_api", "responses"), of + "requires_openai_auth=false", of + "supports_websockets=false",
		// The CLI's own retries keep the work of the turn; a retry of the invocation would lose it.
		of + "request_max_retries=2", of + "stream_max_retries=2",
		// Hide the key from tools.
		setting("shell_environment_policy.set."+keyVar, ""), setting("shell_environment_policy.set."+otherKeyVar, ""),
	}
}

// distrustSettings returns the settings that make the CLI ignore the files of a directory that is
// not trusted.
func (b *Backend) distrustSettings(dir string) []string {
	if !b.IsUntrusted {
		return nil
	}
	return []string{
		"projects={" + tomlString(dir) + `={trust_level="untrusted"}}`, "project_doc_max_bytes=0", "skills.include_instructions=false",
	}
}

// setting returns a setting whose value is a string.
func setting(name, text string) string { return name + "=" + tomlString(text) }

// tomlString quotes a text for TOML. Its strings have the syntax of JSON, except for one control
// character.
func tomlString(text string) string {
	quoted, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "\uFFFD"))
	if err != nil {
		panic(err) // only invalid UTF-8 is an error
	}
	return strings.ReplaceAll(string(quoted), "\x7f", `\u007f`)
}

// nestedVars are variables by which the CLI marks its child processes.
var nestedVars = []string{"CODEX_SESSION_ID", "CODEX_THREAD_ID", "CODEX_CI", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_TOOL_CALL_ID"}

// env returns the CLI's environment: the base environment, overridden by the order's own variables.
func (b *Backend) env(order []string) []string {
	return append(program.WithoutVars(b.Env, nestedVars...), order...)
}
