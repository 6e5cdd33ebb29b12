package action

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/confine"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	clis "github.com/raymond-action/raymond-action/runner/clis"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/runner/prices"
	"github.com/raymond-action/raymond-action/state"
)

// agents has everything that a run's agents and scripts get from the job: agent CLIs, environments
// and the key proxy.
type agents struct {
	clis   clis.Config
	env    session.Env
	redact func(string) string
	proxy  *keyproxy.Proxy // keeps the models' keys from agents' tools; nil without a key
}

// agentsIn returns the agent CLIs for access to their conversations only, with their files in a
// directory, or "" for the directories of the user. They can't run prompts.
func agentsIn(j *Job, cliDir string) map[string]runner.AgentCLI {
	return clis.New(clis.Config{Envs: environs(j.env, j.in), Folder: cliDir})
}

// cliDir returns the directory where agent CLIs of a run have their configuration and conversations
// in a cage, instead of the home directory. It returns "" without a cage.
func cliDir(j *Job, d dirs, id string) string {
	if !isCaged(j.in, j.options.Cage) {
		return ""
	}
	return session.CLIDir(d.run(id))
}

// newAgents prepares the agent CLIs and environments of a run. It starts the key proxy if there is
// a key to protect and the workflow has prompts. The caller closes the result.
func newAgents(j *Job, s *scratch, r *readyRun) (*agents, error) {
	logins := secrets.NewRedactor(nil).Text // hides passwords in URLs, which the mask doesn't know
	env := inheritedEnviron(j.env, j.in)
	scripts, checks := job.ScriptEnviron(env, slices.Concat(j.in.Env, j.in.ScriptEnv)), job.ScriptEnviron(env, j.in.Env)
	a := &agents{
		env:    session.Env{Common: checks, Trusted: scripts},
		redact: func(text string) string { return logins(s.log.mask.Text(text)) },
		clis: clis.Config{
			Env: checks, Envs: environs(j.env, j.in), Folder: cliDir(j, s.dirs, r.run.WorkflowID), Paths: j.options.CLIs, Installers: installers(j, s.dirs), NoNewPrivs: !j.in.AllowSudo,
			IsUntrusted: !j.isTrusted, IsSandboxed: r.options().SkipPermissions && isRoot(),
		},
	}
	if j.in.NoPrompts || !r.workflow.HasPrompts() {
		return a, nil
	}
	return a, a.guardKeys(j, s.log, session.Prices(*r.options()))
}

// environs returns the environment of each agent CLI, by backend.
func environs(env Env, in job.Settings) map[string][]string {
	all := map[string][]string{}
	for _, backend := range protocol.Backends() {
		all[backend] = job.AgentEnviron(backend, inheritedEnviron(env, in), in.Env)
	}
	return all
}

// guardKeys starts the proxy that keeps the models' keys from agents' tools. Without a key, as with
// another provider, it starts none.
func (a *agents) guardKeys(j *Job, log *jobLog, book prices.Table) error {
	var vendors []keyproxy.Vendor
	for _, cli := range clis.All {
		name := cli.Abilities.Backend
		if key := j.in.ModelKey(name); cli.API != nil && key.Text != "" {
			v := keyproxy.Vendor{
				API: cli.API, Upstream: j.env.Getenv(cli.Access.URLVariable), Credential: key,
			}
			if variable := cli.Access.HeaderVariable; variable != "" && v.Upstream != "" {
				for line := range strings.Lines(j.env.Getenv(variable)) {
					header, _, _ := strings.Cut(line, ":")
					v.Headers = append(v.Headers, http.CanonicalHeaderKey(strings.TrimSpace(header)))
				}
			}
			vendors = append(vendors, v)
		}
	}
	if len(vendors) == 0 {
		return nil
	}
	p, err := keyproxy.Start(keyproxy.Options{
		Vendors: vendors, Environ: a.clis.Env, Price: priced(log, book), Tools: j.in.APITools, IsOpen: j.options.Cage.Network == "",
		Log: func(line string) { log.print(log.shown("key proxy: " + line)) },
	})
	if err != nil {
		return problem.OfMachine("key proxy", err)
	}
	redact := a.redact
	a.redact = func(text string) string { return p.HideAddress(redact(text)) }
	a.clis.Proxy, a.proxy = p, p
	return nil
}

// priced returns a function that looks up the price of a model. A model of a known vendor without a
// price costs as much as the vendor's most expensive model. The first such model is logged as a
// warning.
func priced(log *jobLog, book prices.Table) func(model string) (state.Price, bool) {
	var once sync.Once
	return func(model string) (state.Price, bool) {
		price, ok := book.Find(model)
		if ok {
			return price, true
		}
		if price, ok = book.MostExpensive(model); ok {
			once.Do(func() {
				log.Warn(fmt.Sprintf("no price is known for the model %q, so it is charged like the most expensive model of its vendor; the input prices can set its price", model))
			})
		}
		return price, ok
	}
}

// installers returns an installer for each agent CLI that npm can install into the runner's tool
// cache.
func installers(j *Job, d dirs) map[string]clis.Installer {
	all := map[string]clis.Installer{}
	for _, cli := range clis.Installable() {
		name := cli.Abilities.Backend
		all[name] = installation{
			pin: *cli.Pin, input: "clis: " + name + "=PATH", version: j.in.Versions[name],
			cache: cmp.Or(j.env.Getenv("RUNNER_TOOL_CACHE"), filepath.Join(d.state, toolsDir)),
			env:   job.ScriptEnviron(j.env.Environ, npmVariables), isCaged: !j.options.Cage.IsOff() && whyNotConfined(j.in) == "",
		}
	}
	return all
}

func (a *agents) close() {
	if a.proxy != nil {
		_ = a.proxy.Close() // no agent uses it any more
	}
}

// toolsDir is the directory, below the state directory, where agent CLIs are installed on a
// runner without a tool cache.
const toolsDir = "tools"

// npmVariables are the environment variables that tell npm where packages come from.
var npmVariables = []string{
	"NPM_CONFIG_REGISTRY", "npm_config_registry", "NPM_CONFIG_USERCONFIG", "npm_config_userconfig",
	"NPM_CONFIG_CACHE", "npm_config_cache", "NPM_CONFIG_CAFILE", "npm_config_cafile", "NODE_AUTH_TOKEN",
}

func isRoot() bool { return runtime.GOOS != "windows" && os.Geteuid() == 0 }

// newCages makes the cages of a run. The caller closes them.
func newCages(j *Job, s *scratch, a *agents, r *readyRun) (*confine.Cages, error) {
	if r.hasWork {
		if err := s.taint(nil); err != nil {
			return nil, problem.OfMachine("RUNNER_TEMP", err)
		}
	}
	var needs runner.Needs
	if isCaged(j.in, j.options.Cage) {
		var err error
		if needs, err = session.CageNeeds(a.clis, *r.options(), r.workflow.Scope, j.options.Jobs); err != nil {
			return nil, problem.OfMachine("agent CLIs", err)
		}
	}
	return confine.New(j.options.Cage, confine.Site{
		Environ: a.clis.Env, Dir: s.work, Workspace: s.top, Temp: j.env.Getenv("RUNNER_TEMP"),
		Hidden: hiddenPaths(j.env, s.dirs), Readable: neededPaths(s.state, j.options.CLIs), Guarded: actionDirs(j.env), Needs: needs,
		MayGainPrivileges: j.in.AllowSudo,
		BeforeStart:       func(writable []string) error { return s.taint(writable) },
		// Neither agents nor their work are in the workspace, so trusted scripts may read the
		// checkout.
		NeverHasAgents: j.in.NoPrompts && !r.hasWork && s.taintedDirs() == nil && !r.workflow.HasUntrustedScripts(j.options.Jobs),
		Label:          j.options.Label, Info: func(line string) { s.log.print(s.log.shown(line)) }, Warn: s.log.Warn,
	})
}

// isCaged reports whether agents are to run in a cage, and this system has one.
func isCaged(in job.Settings, c options.Cage) bool {
	return !c.IsOff() && !in.AllowSudo && cage.EntryProgram != ""
}

// hiddenPaths returns the paths that agents may not see: files of the run, of the runner, and of other
// steps that use the action.
func hiddenPaths(env Env, d dirs) []string {
	hidden := append(job.CommandFilePaths(env.Getenv), d.all, d.state)
	if d.state != d.own { // the runs of other repositories are beside this one's
		hidden = append(hidden, filepath.Dir(filepath.Dir(d.state)))
	}
	return hidden
}

// neededPaths returns the paths below the temporary directory that agents need: the agent CLIs.
func neededPaths(state string, clis map[string]string) []string {
	needed := []string{filepath.Join(state, toolsDir)}
	for _, cli := range clis {
		if filepath.IsAbs(cli) {
			needed = append(needed, cli)
		}
	}
	return needed
}

// actionDir returns the directory of this action, or "" if the program was started by hand.
func actionDir(env Env) string {
	if shim := env.Getenv(shimVariable); shim != "" {
		return filepath.Dir(filepath.Dir(shim))
	}
	return ""
}

// actionDirs returns the directories of actions. Their post phases get the job's secrets.
func actionDirs(env Env) []string {
	var folders []string
	if own := actionDir(env); own != "" {
		folders = append(folders, own)
	}
	if temp := env.Getenv("RUNNER_TEMP"); temp != "" {
		folders = append(folders, filepath.Join(filepath.Dir(temp), "_actions"))
	}
	return folders
}
