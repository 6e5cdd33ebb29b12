package codex

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// The variables of the environment that say where the API is and hold the key. The CLI does
// not look at the first one by itself.
const (
	baseVar     = "OPENAI_BASE_URL"
	keyVar      = "OPENAI_API_KEY"
	otherKeyVar = "CODEX_API_KEY"
)

// args returns the command line for an order. env is the whole environment of the process.
func (b *Backend) args(t turn, env []string, more ...string) []string {
	args := []string{"exec"}
	if t.resumed != "" {
		args = append(args, "resume")
	}
	args = append(args, "--json", "--skip-git-repo-check")
	for _, s := range slices.Concat(always, provider(env), b.distrust(t.dir), t.may.settings(), more) {
		args = append(args, "-c", s)
	}
	if t.effort != "" {
		args = append(args, "-c", setting("model_reasoning_effort", t.effort))
	}
	if t.model != "" {
		// An agent may write a model into a tag that could pass for a flag.
		args = append(args, "--model="+t.model)
	}
	if t.resumed != "" {
		args = append(args, t.resumed)
	}
	return append(args, "-") // the prompt is on stdin
}

// always are the settings of every invocation. A dotted name keeps what the user has set
// beside it.
var always = []string{
	// Nobody is there to be asked.
	setting("approval_policy", "never"),
	// Nothing but the API is asked: no news, no plugins from GitHub, no counts of use.
	"check_for_update_on_startup=false", "analytics.enabled=false", "features.plugins=false", "features.apps=false",
	// Text would pass between runs that share a home folder.
	"features.memories=false",
	// One process, one turn.
	"features.goals=false",
	// What other agents use is not in the CLI's count, and may be another model.
	"agents.enabled=false",
	// The run's policy (backoff, ledger, usage limits) has to hear of an error that lasts.
	"features.unbounded_connection_retries=false",
}

// provider are the settings by which the CLI asks the API over HTTP with a key. Its own
// provider takes no other address, and tries a WebSocket first. Without a key there are none:
// the CLI uses its own login.
func provider(env []string) []string {
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
		// Its own retries keep the work of the turn, which a retry of the invocation throws away.
		of + "request_max_retries=2", of + "stream_max_retries=2",
		// Tools get no key.
		setting("shell_environment_policy.set."+keyVar, ""), setting("shell_environment_policy.set."+otherKeyVar, ""),
	}
}

// distrust are the settings by which nothing in a directory is obeyed.
func (b *Backend) distrust(dir string) []string {
	if !b.IsUntrusted {
		return nil
	}
	return []string{
		"projects={" + quote(dir) + `={trust_level="untrusted"}}`, "project_doc_max_bytes=0", "skills.include_instructions=false",
	}
}

// setting is a setting with a text as its value.
func setting(name, text string) string { return name + "=" + quote(text) }

// quote returns a text as TOML has it, whose strings are those of JSON but for one control
// character.
func quote(text string) string {
	quoted, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "\uFFFD"))
	if err != nil {
		panic(err) // of invalid UTF-8 alone
	}
	return strings.ReplaceAll(string(quoted), "\x7f", `\u007f`)
}

// nested marks a process as a child of the CLI.
var nested = []string{"CODEX_SESSION_ID", "CODEX_THREAD_ID", "CODEX_CI", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_TOOL_CALL_ID"}

// env returns the CLI's environment: the base environment, and the order's own variables
// over it.
func (b *Backend) env(order []string) []string {
	return append(program.WithoutVars(b.Env, nested...), order...)
}
