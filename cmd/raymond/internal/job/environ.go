package job

import (
	"runtime"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/protocol"
)

// common are the variables of the job that every program gets. Variables for directories of toolchains
// (JAVA_HOME, GOROOT, …) are not included; the input env can add them.
var common = strings.Fields(`
	PATH HOME USER LOGNAME SHELL TERM TZ LANG LANGUAGE TMPDIR TMP TEMP
	HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy
	SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GIT_SSL_CAINFO
	CI RUNNER_OS RUNNER_ARCH RUNNER_TEMP RUNNER_TOOL_CACHE RUNNER_NAME RUNNER_ENVIRONMENT RUNNER_DEBUG
	RUNNER_TRACKING_ID
	GITHUB_ACTIONS GITHUB_REPOSITORY GITHUB_SHA GITHUB_REF GITHUB_REF_NAME GITHUB_HEAD_REF GITHUB_BASE_REF
	GITHUB_EVENT_NAME GITHUB_EVENT_PATH GITHUB_SERVER_URL GITHUB_API_URL GITHUB_RUN_ID GITHUB_ACTOR
	GITHUB_WORKSPACE`)

// windows are additional variables that programs need on Windows.
var windows = strings.Fields(`
	SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT OS USERPROFILE USERNAME USERDOMAIN HOMEDRIVE HOMEPATH
	APPDATA LOCALAPPDATA PROGRAMDATA ALLUSERSPROFILE PUBLIC COMPUTERNAME PSMODULEPATH
	PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 COMMONPROGRAMFILES COMMONPROGRAMFILES(X86) COMMONPROGRAMW6432
	NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE PROCESSOR_IDENTIFIER`)

// prefixes are the prefixes of variables that every program gets.
var prefixes = []string{"LC_", "RAYMOND_"}

// models are the variables with names of models. The names differ between providers.
const models = " ANTHROPIC_MODEL ANTHROPIC_SMALL_FAST_MODEL ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION" +
	" ANTHROPIC_DEFAULT_OPUS_MODEL ANTHROPIC_DEFAULT_SONNET_MODEL ANTHROPIC_DEFAULT_HAIKU_MODEL"

// provider is a service that offers models and is not the vendor's own API, such as Bedrock. It lists
// the variables that an agent CLI reads for it.
type provider struct {
	backend  string // the agent CLI that reads the variables
	when     string // the variable that turns the provider on
	names    string
	prefixes []string
}

var providers = []provider{
	{protocol.BackendClaude, "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_SKIP_BEDROCK_AUTH ANTHROPIC_BEDROCK_BASE_URL" + models, []string{"AWS_"}},
	{
		protocol.BackendClaude, "CLAUDE_CODE_USE_VERTEX",
		"CLAUDE_CODE_SKIP_VERTEX_AUTH CLOUD_ML_REGION GOOGLE_APPLICATION_CREDENTIALS GOOGLE_CLOUD_PROJECT GCLOUD_PROJECT" + models,
		[]string{"ANTHROPIC_VERTEX_", "VERTEX_REGION_"},
	},
	{protocol.BackendClaude, "CLAUDE_CODE_USE_FOUNDRY", "CLAUDE_CODE_SKIP_FOUNDRY_AUTH" + models, []string{"ANTHROPIC_FOUNDRY_", "AZURE_"}},
	{protocol.BackendClaude, "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN ANTHROPIC_CUSTOM_HEADERS" + models, nil},
	{
		protocol.BackendGemini, "GOOGLE_GENAI_USE_VERTEXAI",
		"GOOGLE_APPLICATION_CREDENTIALS GOOGLE_CLOUD_PROJECT GOOGLE_CLOUD_PROJECT_ID GOOGLE_CLOUD_LOCATION GOOGLE_VERTEX_BASE_URL", nil,
	},
	{protocol.BackendGemini, "GOOGLE_GEMINI_BASE_URL", "", nil},
	{protocol.BackendCodex, "OPENAI_BASE_URL", "", nil},
}

// HasProvider reports whether a variable in environ makes an agent CLI use a provider other than the
// vendor's own API.
func HasProvider(backend string, environ []string) bool {
	return slices.ContainsFunc(providers, func(p provider) bool { return p.backend == backend && isOn(runtime.GOOS, environ, p.when) })
}

// UsesVertex reports whether a variable in environ makes an agent CLI log in with Google Cloud
// credentials.
func UsesVertex(environ []string) bool {
	return slices.ContainsFunc(providers, func(p provider) bool {
		return strings.Contains(p.names, "GOOGLE_APPLICATION_CREDENTIALS") && isOn(runtime.GOOS, environ, p.when)
	})
}

// ownVariables are the variables that an agent CLI always reads.
var ownVariables = map[string][]string{
	protocol.BackendClaude: {"CLAUDE_CONFIG_DIR"},
	protocol.BackendCodex:  {"CODEX_HOME"},
	protocol.BackendGemini: {"GEMINI_CLI_HOME"},
}

// AgentEnviron returns the variables in environ that an agent CLI may get. These are the variables that
// every program gets, the allowed ones, the CLI's own variables, and variables of the providers that are
// turned on. Withheld variables, and variables that only other agent CLIs read, are never included.
func AgentEnviron(backend string, environ, allowed []string) []string {
	return agentEnviron(runtime.GOOS, backend, environ, allowed)
}

// agentEnviron is AgentEnviron for a given operating system.
func agentEnviron(system, backend string, environ, allowed []string) []string {
	allowed, families := slices.Concat(allowed, ownVariables[backend]), prefixes
	for _, p := range providers {
		if p.backend == backend && isOn(system, environ, p.when) {
			allowed = append(append(allowed, p.when), strings.Fields(p.names)...)
			families = slices.Concat(families, p.prefixes)
		}
	}
	return selectVariables(system, environ, allowed, families)
}

// ScriptEnviron returns the variables in environ that scripts may get: variables that every program
// gets, and the allowed ones. Withheld variables are never included.
func ScriptEnviron(environ, allowed []string) []string {
	return selectVariables(runtime.GOOS, environ, allowed, prefixes)
}

// isOn reports whether a variable is set to a value other than 0 and false.
func isOn(system string, environ []string, name string) bool {
	on := false
	for _, kv := range environ {
		if n, v, ok := strings.Cut(kv, "="); ok && normalName(system, n) == name {
			on = v != "" && v != "0" && !strings.EqualFold(v, "false")
		}
	}
	return on
}

// normalName returns the form of a variable's name that is used to compare names. Windows ignores case.
func normalName(system, name string) string {
	if system == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

// selectVariables returns the variables in environ that every program gets, and variables with an allowed
// name or prefix. Withheld variables are never included.
func selectVariables(system string, environ, allowed, families []string) (selected []string) {
	allowed = slices.Concat(common, allowed)
	if system == "windows" {
		allowed = append(allowed, windows...)
	}
	for _, kv := range environ {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || secrets.IsWithheld(name) {
			continue
		}
		name = normalName(system, name)
		isIt := func(n string) bool { return normalName(system, n) == name }
		isOf := func(family string) bool { return strings.HasPrefix(name, family) }
		if slices.ContainsFunc(allowed, isIt) || slices.ContainsFunc(families, isOf) {
			selected = append(selected, kv)
		}
	}
	return selected
}
