// Package clis lists the agent CLIs that can run prompts. To add another agent CLI, write a package
// for it, add it to All, and add its name to protocol.Backends.
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

// Installer installs an agent CLI if it is missing.
type Installer = program.Installer

// Pin is the version of an agent CLI that was tested and can be installed.
type Pin = program.Pin

// Config configures the agent CLIs of a run. The keys of its maps are backend names, as in
// protocol.Backends.
type Config struct {
	Env []string // base environment of the CLIs
	// Envs contains other base environments for some of the CLIs, which replace Env.
	Envs map[string][]string
	// Folder contains a configuration folder for each CLI. If empty, the CLIs use the folders in
	// the user's home folder.
	Folder string
	// Paths contains the paths of the CLIs' programs. If a path is missing, the program is searched
	// in PATH.
	Paths map[string]string
	// Installers install CLIs that are missing. A CLI without an installer is not installed.
	Installers map[string]Installer
	// NoNewPrivs prevents the CLIs, and commands that they run, from gaining privileges. It only
	// works on Linux.
	NoNewPrivs bool
	// IsUntrusted makes the CLIs ignore hooks, MCP servers, settings and similar files in the
	// working directory. Not all CLIs support this for all files.
	IsUntrusted bool
	// IsSandboxed is set if nothing on the machine needs protection. The CLIs may then skip
	// permissions even if they run as root.
	IsSandboxed bool
	// Proxy holds the keys for the APIs and forwards the CLIs' requests. If nil, the CLIs send
	// their requests directly.
	Proxy      *keyproxy.Proxy
	ClaudeArgs []string // additional arguments for Claude Code, as in state.Options.ClaudeArgs
	Command    string   // the agent command, as in state.Options.Command
}

// Environ returns the base environment for the CLI with a backend name. If Folder is set, the
// environment contains the variable for the CLI's configuration folder.
func (c Config) Environ(backend string) []string {
	env, ok := c.Envs[backend]
	if !ok {
		env = c.Env
	}
	if variable := Find(backend).Access.FolderVariable; variable != "" && c.Folder != "" {
		return append(slices.Clone(env), variable+"="+filepath.Join(c.Folder, backend))
	}
	return env
}

// CLI describes an agent CLI, independent of a run.
type CLI struct {
	Abilities runner.Abilities
	Pin       *Pin         // nil if the CLI can't be installed
	API       keyproxy.API // API that the CLI uses; nil if unknown
	Access    program.Access
	// keywords are the keywords of the transcript format, separated by white space. They must not
	// be masked, because then the CLI could not read its transcripts.
	keywords   string
	newBackend func(c Config, env []string) cliBackend
}

// Program returns the name of the CLI's program for users, for example "Codex CLI".
func (c CLI) Program() string { return strings.TrimSuffix(c.Abilities.Title, " CLI") + " CLI" }

// PathVariable returns the environment variable with the path of the CLI's program.
func (c CLI) PathVariable() string { return "RAYMOND_" + strings.ToUpper(c.Abilities.Backend) }

// Find returns the agent CLI with a backend name, or the zero CLI if there is none.
func Find(backend string) CLI {
	if i := slices.IndexFunc(All, func(c CLI) bool { return c.Abilities.Backend == backend }); i >= 0 {
		return All[i]
	}
	return CLI{}
}

// Installable returns the agent CLIs that can be installed, whose paths users can set.
func Installable() []CLI {
	return slices.DeleteFunc(slices.Clone(All), func(c CLI) bool { return c.Pin == nil })
}

// All lists the agent CLIs, in the order of protocol.Backends.
var All = []CLI{
	{claude.Abilities(), &claude.Pin, claude.API{}, claude.Access, claude.Words, func(c Config, env []string) cliBackend {
		return &claude.Backend{CLI: c.baseCLI(protocol.BackendClaude, claude.Pin, env), IsSandboxed: c.IsSandboxed, Args: c.ClaudeArgs}
	}},
	{codex.Abilities(), &codex.Pin, codex.API{}, codex.Access, codex.Words, func(c Config, env []string) cliBackend {
		return &codex.Backend{CLI: c.baseCLI(protocol.BackendCodex, codex.Pin, env)}
	}},
	{gemini.Abilities(), &gemini.Pin, gemini.API{}, gemini.Access, gemini.Words, func(c Config, env []string) cliBackend {
		return &gemini.Backend{CLI: c.baseCLI(protocol.BackendGemini, gemini.Pin, env)}
	}},
	{command.Abilities(), nil, nil, program.Access{}, "", func(c Config, env []string) cliBackend {
		return &command.Backend{Command: c.Command, Env: env, NoNewPrivs: c.NoNewPrivs, Proxy: c.Proxy}
	}},
}

// agentCLI implements runner.AgentCLI.
type agentCLI struct {
	cliBackend
	runner.Transcripts
	abilities runner.Abilities
}

// Abilities implements runner.AgentCLI.
func (a agentCLI) Abilities() runner.Abilities { return a.abilities }

// cliBackend is the interface of the type Backend in the package of each CLI.
type cliBackend interface {
	runner.Backend
	Needs() runner.Needs
	Transcripts() runner.Transcripts
}

// baseCLI returns the part of a backend's configuration that is the same for all CLIs that can be
// installed. env is its base environment.
func (c Config) baseCLI(backend string, pin Pin, env []string) program.CLI {
	return program.CLI{
		Path: c.Paths[backend], Installer: c.Installers[backend], Tested: pin.Version(),
		Env: env, NoNewPrivs: c.NoNewPrivs, IsUntrusted: c.IsUntrusted, Proxy: c.Proxy,
	}
}

// New returns all agent CLIs by backend name. It neither starts a program nor looks for one.
func New(c Config) map[string]runner.AgentCLI {
	all := map[string]runner.AgentCLI{}
	for _, known := range All {
		name := known.Abilities.Backend
		cli := known.newBackend(c, c.Environ(name))
		all[name] = agentCLI{cli, cli.Transcripts(), known.Abilities}
	}
	return all
}

// Words returns the keywords of all transcript formats. They must not be masked, because then the
// CLIs could not read their transcripts.
func Words() (all []string) {
	for _, c := range All {
		all = append(all, strings.Fields(c.keywords)...)
	}
	return all
}
