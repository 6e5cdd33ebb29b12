package codex

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// Environment variables for the URL and the key of the API. The CLI itself ignores OPENAI_BASE_URL.
const (
	baseVar     = "OPENAI_BASE_URL"
	keyVar      = "OPENAI_API_KEY"
	otherKeyVar = "CODEX_API_KEY"
)

// args returns the command line for a turn. env is the complete environment of the process. more
// contains further settings.
func (b *Backend) args(t turn, env []string, more ...string) []string {
	args := []string{"exec"}
	if t.resumed != "" {
		args = append(args, "resume")
	}
	args = append(args, "--json", "--skip-git-repo-check")
	var distrust []string // makes the CLI ignore configuration and instructions in its directory
	if b.IsUntrusted {
		distrust = []string{
			"projects={" + tomlString(t.dir) + `={trust_level="untrusted"}}`, "project_doc_max_bytes=0", "skills.include_instructions=false",
		}
	}
	for _, s := range slices.Concat(fixedSettings, providerSettings(env), distrust, t.may.settings(), more) {
		args = append(args, "-c", s)
	}
	if t.effort != "" {
		args = append(args, "-c", setting("model_reasoning_effort", t.effort))
	}
	if t.model != "" {
		// An agent may have written the model's name into a tag. After "=", the name can't be read
		// as a flag.
		args = append(args, "--model="+t.model)
	}
	if t.resumed != "" {
		args = append(args, t.resumed)
	}
	return append(args, "-") // read the prompt from stdin
}

// fixedSettings are the settings for every invocation. A setting with a dotted name doesn't change
// the user's other settings in the same table.
var fixedSettings = []string{
	// Never ask a user for approval, since none can answer.
	setting("approval_policy", "never"),
	// Connect only to the API: no update check, no plugins from GitHub, and no analytics.
	"check_for_update_on_startup=false", "analytics.enabled=false", "features.plugins=false", "features.apps=false",
	// Memories would pass text between runs that use the same home folder.
	"features.memories=false",
	// Goals would start further turns, but one process must run only one turn.
	"features.goals=false",
	// The CLI doesn't count the tokens of subagents, which may use other models, so they are turned
	// off.
	"agents.enabled=false",
	// A persistent error must end the invocation, so that the run can handle it: with a back-off,
	// the ledger, and usage limits.
	"features.unbounded_connection_retries=false",
}

// providerSettings returns settings that make the CLI send requests over HTTP with a key. The CLI's
// built-in provider can't be used: it accepts no other URL, and tries a WebSocket first. If env
// contains no key, providerSettings returns nil, and the CLI uses its own login.
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
		// Retries by the CLI keep the work of the turn, which is lost if the invocation is retried.
		of + "request_max_retries=2", of + "stream_max_retries=2",
		// Hide the key from the commands that the agent runs.
		setting("shell_environment_policy.set."+keyVar, ""), setting("shell_environment_policy.set."+otherKeyVar, ""),
	}
}

// setting returns a setting with a string as its value.
func setting(name, text string) string { return name + "=" + tomlString(text) }

// tomlString quotes a text as a TOML string. TOML strings have the same syntax as JSON strings,
// except for one control character.
func tomlString(text string) string {
	quoted, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "\uFFFD"))
	if err != nil {
		panic(err) // only invalid UTF-8 would cause an error
	}
	return strings.ReplaceAll(string(quoted), "\x7f", `\u007f`)
}

// nestedVars are the variables with which the CLI marks its child processes.
var nestedVars = []string{"CODEX_SESSION_ID", "CODEX_THREAD_ID", "CODEX_CI", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_TOOL_CALL_ID"}

// env returns the environment of the CLI: the base environment without nestedVars, followed by the
// variables of the order.
func (b *Backend) env(order []string) []string {
	return append(program.WithoutVars(b.Env, nestedVars...), order...)
}
