// Package clis is the list of the agent CLIs that prompts can be run with. It alone knows them
// all: to add one, write its package and a line here.
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

// Pin is the version of an agent CLI that is tested.
type Pin = program.Pin

// Config is what the agent CLIs of a run are given. By backend means by one of
// protocol.Backends.
type Config struct {
	Env        []string             // the whole base environment
	Envs       map[string][]string  // of those that have another one, by backend
	Folder     string               // with a folder for each CLI in place of the one in the user's home; "" for that one
	Paths      map[string]string    // of the CLIs, by backend; those on PATH where there is none
	Installers map[string]Installer // of CLIs that are not there, by backend; none: it is the user's matter
	NoNewPrivs bool                 // the CLIs, and the tools that they run, can't gain privileges; Linux only
	// IsUntrusted says that nothing that the working directory holds for an agent CLI may be
	// run or obeyed, as far as the CLI can do without: hooks, servers, settings.
	IsUntrusted bool
	IsSandboxed bool // the machine holds nothing of value, so that root may run what may do everything
	// Proxy is what the CLIs ask their APIs through, as far as it has keys for them; nil for
	// nothing.
	Proxy      *keyproxy.Proxy
	ClaudeArgs []string // state.Options.ClaudeArgs
	Command    string   // state.Options.AgentCommand
}

// Environ is the base environment of an agent CLI.
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

// folderVars are the variables that tell agent CLIs where their own folder is.
var folderVars = map[string]string{
	protocol.BackendClaude: "CLAUDE_CONFIG_DIR", protocol.BackendCodex: "CODEX_HOME", protocol.BackendGemini: "GEMINI_CLI_HOME",
}

// CLI is what is known of an agent CLI before a run.
type CLI struct {
	Abilities runner.Abilities
	Pin       *Pin         // nil for what can't be installed
	API       keyproxy.API // that it asks; nil for none that is known
	words     string       // of its transcripts, without which it can't read them
	make      func(Config) cli
}

// All are all agent CLIs, the default one first.
var All = []CLI{
	{claude.Abilities(), &claude.Pin, claude.API{}, claude.Words, func(c Config) cli {
		return &claude.Backend{CLI: c.cli(protocol.BackendClaude, claude.Pin), IsSandboxed: c.IsSandboxed, Args: c.ClaudeArgs}
	}},
	{codex.Abilities(), &codex.Pin, codex.API{}, codex.Words, func(c Config) cli {
		return &codex.Backend{CLI: c.cli(protocol.BackendCodex, codex.Pin)}
	}},
	{gemini.Abilities(), &gemini.Pin, gemini.API{}, gemini.Words, func(c Config) cli {
		return &gemini.Backend{CLI: c.cli(protocol.BackendGemini, gemini.Pin)}
	}},
	{command.Abilities(), nil, nil, "", func(c Config) cli {
		return &command.Backend{Command: c.Command, Env: c.Environ(protocol.BackendCommand), NoNewPrivs: c.NoNewPrivs, Proxy: c.Proxy}
	}},
}

// agent is what runs a CLI, and what is known of its conversations.
type agent struct {
	cli
	runner.Transcripts
	abilities runner.Abilities
}

// Abilities implements runner.Agent.
func (a agent) Abilities() runner.Abilities { return a.abilities }

type cli interface {
	runner.Backend
	Needs() runner.Needs
	Transcripts() runner.Transcripts // its conversations
}

// cli is what the CLIs that can be installed have in common.
func (c Config) cli(backend string, pin Pin) program.CLI {
	return program.CLI{
		Path: c.Paths[backend], Installer: c.Installers[backend], Tested: pin.Version(),
		Env: c.Environ(backend), NoNewPrivs: c.NoNewPrivs, IsUntrusted: c.IsUntrusted, Proxy: c.Proxy,
	}
}

// New returns all agent CLIs, by backend. It starts nothing and looks for nothing.
func New(c Config) map[string]runner.AgentCLI {
	all := map[string]runner.AgentCLI{}
	for _, known := range All {
		cli := known.make(c)
		all[known.Abilities.Backend] = agent{cli, cli.Transcripts(), known.Abilities}
	}
	return all
}

// Words returns words of all transcripts, without which their CLIs can't read them.
func Words() (all []string) {
	for _, c := range All {
		all = append(all, strings.Fields(c.words)...)
	}
	return all
}
