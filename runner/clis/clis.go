// Package clis lists the agent CLIs that can run prompts. To add one, write its package and
// add it to All.
package clis

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/claude"
	"github.com/raymond-action/raymond-action/runner/codex"
	"github.com/raymond-action/raymond-action/runner/command"
	"github.com/raymond-action/raymond-action/runner/gemini"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// Installer installs an agent CLI.
type Installer = program.Installer

// Pin is the tested version of an agent CLI, which can be installed.
type Pin = program.Pin

// Config configures the agent CLIs of a run. The keys of its maps are backend names, as in
// protocol.Backends.
type Config struct {
	Env        []string             // base environment of all CLIs
	Envs       map[string][]string  // base environments of the CLIs that need another one
	Folder     string               // holds a configuration folder for each CLI; "" uses the folders in the user's home
	Paths      map[string]string    // programs of the CLIs; a missing entry means the program on PATH
	Installers map[string]Installer // install missing CLIs; without an entry a CLI is not installed
	NoNewPrivs bool                 // the CLIs and their tools can't gain privileges; Linux only
	// IsUntrusted tells the CLIs not to run or obey files of the working directory, like hooks,
	// MCP servers and settings, as far as the CLI supports that.
	IsUntrusted bool
	IsSandboxed bool // nothing on the machine needs protection, so the CLI may skip permissions even as root
	// Proxy forwards the requests of the CLIs to their APIs and holds the keys; nil if the CLIs
	// send requests themselves.
	Proxy      *keyproxy.Proxy
	ClaudeArgs []string // state.Options.ClaudeArgs
	Command    string   // state.Options.AgentCommand
}

// Environ returns the base environment of an agent CLI.
func (c Config) Environ(backend string) []string {
	env, ok := c.Envs[backend]
	if !ok {
		env = c.Env
	}
	if variable := folderVars[backend]; variable != "" && c.Folder != "" {
		return append(slices.Clone(env), variable+"="+filepath.Join(c.Folder, backend))
	}
	return env
}

// folderVars are the environment variables that set the configuration folder of an agent CLI.
var folderVars = map[string]string{
	protocol.BackendClaude: "CLAUDE_CONFIG_DIR", protocol.BackendCodex: "CODEX_HOME", protocol.BackendGemini: "GEMINI_CLI_HOME",
}

// CLI describes an agent CLI before a run.
type CLI struct {
	Abilities  runner.Abilities
	Pin        *Pin         // nil if the CLI can't be installed
	API        keyproxy.API // API that the CLI calls; nil if unknown
	keywords   string       // keywords of the transcript format, separated by blanks; masking them would make transcripts unreadable
	newBackend func(Config) cliBackend
}

// All lists the agent CLIs. The first one is the default.
var All = []CLI{
	{claude.Abilities(), &claude.Pin, claude.API{}, claude.Words, func(c Config) cliBackend {
		return &claude.Backend{CLI: c.baseCLI(protocol.BackendClaude, claude.Pin), IsSandboxed: c.IsSandboxed, Args: c.ClaudeArgs}
	}},
	{codex.Abilities(), &codex.Pin, codex.API{}, codex.Words, func(c Config) cliBackend {
		return &codex.Backend{CLI: c.baseCLI(protocol.BackendCodex, codex.Pin)}
	}},
	{gemini.Abilities(), &gemini.Pin, gemini.API{}, gemini.Words, func(c Config) cliBackend {
		return &gemini.Backend{CLI: c.baseCLI(protocol.BackendGemini, gemini.Pin)}
	}},
	{command.Abilities(), nil, nil, "", func(c Config) cliBackend {
		return &command.Backend{Command: c.Command, Env: c.Environ(protocol.BackendCommand), NoNewPrivs: c.NoNewPrivs, Proxy: c.Proxy}
	}},
}

// agentCLI implements runner.AgentCLI.
type agentCLI struct {
	cliBackend
	runner.Transcripts
	abilities runner.Abilities
}

// Abilities implements runner.Agent.
func (a agentCLI) Abilities() runner.Abilities { return a.abilities }

// cliBackend is implemented by the Backend of each CLI's package.
type cliBackend interface {
	runner.Backend
	Needs() runner.Needs
	Transcripts() runner.Transcripts
}

// baseCLI returns the settings that all installable CLIs share.
func (c Config) baseCLI(backend string, pin Pin) program.CLI {
	return program.CLI{
		Path: c.Paths[backend], Installer: c.Installers[backend], Tested: pin.Version(),
		Env: c.Environ(backend), NoNewPrivs: c.NoNewPrivs, IsUntrusted: c.IsUntrusted, Proxy: c.Proxy,
	}
}

// New returns all agent CLIs by backend name. It neither starts nor looks for a program.
func New(c Config) map[string]runner.AgentCLI {
	all := map[string]runner.AgentCLI{}
	for _, known := range All {
		cli := known.newBackend(c)
		all[known.Abilities.Backend] = agentCLI{cli, cli.Transcripts(), known.Abilities}
	}
	return all
}

// Words returns the keywords of all transcript formats. They must not be masked, or the CLIs could
// not read their transcripts.
func Words() (all []string) {
	for _, c := range All {
		all = append(all, strings.Fields(c.keywords)...)
	}
	return all
}
