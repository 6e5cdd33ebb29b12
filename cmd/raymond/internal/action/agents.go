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

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
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

// conversationsOf returns the agent CLIs for access to their conversations only. They can't run
// prompts.
func conversationsOf(s *step) map[string]runner.AgentCLI {
	return clis.New(clis.Config{Envs: environs(s.env, s.in), Folder: s.cliFolder()})
}

// newAgents prepares the agent CLIs and environments of a run. It starts the key proxy if there is
// a key to protect and the workflow has prompts. The caller closes the result.
func newAgents(s *step, b *readyRun, isTrusted bool) (*agents, error) {
	logins := secrets.NewRedactor(nil).Text // hides passwords in URLs, which the mask doesn't know
	env := inherited(s.env, s.in)
	scripts, checks := job.ScriptEnviron(env, slices.Concat(s.in.Env, s.in.ScriptEnv)), job.ScriptEnviron(env, s.in.Env)
	a := &agents{
		env:    session.Env{Common: checks, Trusted: scripts},
		redact: func(text string) string { return logins(s.log.mask.Text(text)) },
		clis: clis.Config{
			Env: checks, Envs: environs(s.env, s.in), Folder: s.cliFolder(), Paths: s.options.CLIs, Installers: installers(s), NoNewPrivs: !s.in.AllowSudo,
			IsUntrusted: !isTrusted, IsSandboxed: b.options().SkipPermissions && isRoot(),
		},
	}
	if s.in.NoPrompts || !b.flow.HasPrompts() {
		return a, nil
	}
	return a, a.guardKeys(s, session.Prices(*b.options()))
}

// environs returns the environment of each agent CLI, by backend.
func environs(env Env, in job.Settings) map[string][]string {
	all := map[string][]string{}
	for _, backend := range protocol.Backends() {
		all[backend] = job.AgentEnviron(backend, inherited(env, in), in.Env)
	}
	return all
}

// guardKeys starts the proxy that keeps the models' keys from agents' tools. Without a key, as with
// another provider, it starts none.
func (a *agents) guardKeys(s *step, book prices.Table) error {
	var vendors []keyproxy.Vendor
	for _, cli := range clis.All {
		name := cli.Abilities.Backend
		if key := s.in.ModelKey(name); cli.API != nil && key.Text != "" {
			v := keyproxy.Vendor{
				API: cli.API, Upstream: s.env.Getenv(cli.Access.URLVariable), Credential: key,
			}
			if variable := cli.Access.HeaderVariable; variable != "" && v.Upstream != "" {
				for line := range strings.Lines(s.env.Getenv(variable)) {
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
		Vendors: vendors, Environ: a.clis.Env, Price: priced(s.log, book), Tools: s.in.APITools, IsOpen: s.options.Cage.Network == "",
		Log: func(line string) { s.log.print(s.log.shown("key proxy: " + line)) },
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
				log.warn(fmt.Sprintf("no price is known for the model %q, so it is charged like the most expensive model of its vendor; the input prices can set its price", model))
			})
		}
		return price, ok
	}
}

// installers returns an installer for each agent CLI that npm can install into the runner's tool
// cache.
func installers(s *step) map[string]clis.Installer {
	all := map[string]clis.Installer{}
	for _, cli := range clis.Installable() {
		name := cli.Abilities.Backend
		all[name] = installation{
			pin: *cli.Pin, input: "clis: " + name + "=PATH", version: s.in.Versions[name],
			cache: cmp.Or(s.env.Getenv("RUNNER_TOOL_CACHE"), filepath.Join(s.dirs.state, toolsFolder)),
			env:   job.ScriptEnviron(s.env.Environ, npmVariables), isCaged: !s.options.Cage.IsOff() && unheld(s.in.AllowSudo) == "",
		}
	}
	return all
}

func (a *agents) close() {
	if a.proxy != nil {
		_ = a.proxy.Close() // no agent uses it any more
	}
}

// toolsFolder is the directory, below the state directory, where agent CLIs are installed on a
// runner without a tool cache.
const toolsFolder = "tools"

// npmVariables are the environment variables that tell npm where packages come from.
var npmVariables = []string{
	"NPM_CONFIG_REGISTRY", "npm_config_registry", "NPM_CONFIG_USERCONFIG", "npm_config_userconfig",
	"NPM_CONFIG_CACHE", "npm_config_cache", "NPM_CONFIG_CAFILE", "npm_config_cafile", "NODE_AUTH_TOKEN",
}

func isRoot() bool { return runtime.GOOS != "windows" && os.Geteuid() == 0 }
