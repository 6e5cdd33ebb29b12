package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/claude/keyproxy"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/runner/shell"
)

// findSource finds the workflow among those of the action, in the workspace, or
// else where agents work.
func (x *action) findSource() error {
	name := x.in.Workflow
	if name == "" {
		return nil // told already
	}
	if x.isBuiltin() {
		return x.findBuiltin()
	}
	x.source = name
	if !filepath.IsAbs(name) {
		x.source = filepath.Join(x.top, name)
		if _, err := os.Stat(x.source); err != nil {
			if wd, err := os.Getwd(); err == nil {
				x.source = filepath.Join(wd, name)
			}
		}
	}
	if _, err := os.Stat(x.source); err != nil {
		return problem.Usage("input workflow", fmt.Sprintf("%q: there is no such file or directory", name),
			"name a folder, a zip archive or a state file of the workspace, and check out the repository first")
	}
	return nil
}

// takeCommitted replaces the source by what the workflow's own commit has there:
// from a checkout that isn't trusted no state is taken.
func (x *action) takeCommitted(ctx context.Context) error {
	deny := func(what string) error {
		return &problem.Problem{Class: problem.ClassDenied, Where: "input workflow", What: "the checkout isn't trusted, and " + what,
			Hint: "check out the workflow's own ref, or set trust-checkout: true"}
	}
	rel, err := filepath.Rel(x.top, x.source)
	if err != nil || !filepath.IsLocal(rel) {
		return deny("the workflow is not in the workspace")
	}
	commit := cmp.Or(x.app.Getenv("GITHUB_WORKFLOW_SHA"), x.app.Getenv("GITHUB_SHA"))
	dir := filepath.Join(x.own, "source")
	part := workspace.Committed{Dir: x.top, Commit: commit, Name: rel}
	if err := errors.Join(os.RemoveAll(dir), x.git().Extract(ctx, part, dir)); err != nil {
		return deny(fmt.Sprintf("the states can't be read from commit %q: %v", commit, err))
	}
	x.source, x.place = filepath.Join(dir, rel), rel
	return nil
}

// host is what the run is given by the job.
func (x *action) host() *host {
	logins := shell.Redactor(nil) // the mask has all secrets; passwords in URLs are none it knows
	env := x.inherited()
	h := &host{
		agents:  job.AgentEnviron(env, x.in.Env),
		scripts: job.ScriptEnviron(env, slices.Concat(x.in.Env, x.in.ScriptEnv)),
		redact:  func(s string) string { return logins(x.mask.Text(s)) },
		people:  x.people, signalled: cancelled, claude: x.o.claude, noNewPrivs: !x.in.AllowSudo,
		mask: x.shown,
	}
	h.installer = cliInstall{
		cache:   cmp.Or(x.app.Getenv("RUNNER_TOOL_CACHE"), filepath.Join(x.dir, "tools")),
		version: x.in.ClaudeVersion, env: job.ScriptEnviron(x.app.Environ, npmVariables),
	}
	h.gone, h.prompts = x.gone, x.noteSessions()
	if !x.trusted {
		// Hooks, servers and instructions of the checkout would run with the agent.
		h.claudeArgs = []string{"--setting-sources", "user", "--strict-mcp-config"}
	}
	return h
}

// cancelled words why a signal ended the run. A runner sends SIGINT when somebody
// or a time limit cancels the job.
func cancelled(signal string) string {
	if signal == "SIGINT" {
		return "the job was cancelled (SIGINT)"
	}
	return "the step was ended from outside (" + signal + ")"
}

// inherited is the environment that agents and scripts are given some of. The
// token of the job is in it for those who name it.
func (x *action) inherited() []string {
	env := slices.DeleteFunc(slices.Clone(x.app.Environ), func(kv string) bool {
		return strings.HasPrefix(kv, shell.ShimStdin+"=") // their stdin is no pipe of the shim
	})
	if x.app.Getenv("GITHUB_TOKEN") == "" && x.in.GitHubToken != "" {
		env = append(env, "GITHUB_TOKEN="+x.in.GitHubToken)
	}
	return env
}

// npmVariables are what npm may be told about where packages come from.
var npmVariables = []string{
	"NPM_CONFIG_REGISTRY", "npm_config_registry", "NPM_CONFIG_USERCONFIG", "npm_config_userconfig",
	"NPM_CONFIG_CACHE", "npm_config_cache", "NPM_CONFIG_CAFILE", "npm_config_cafile", "NODE_AUTH_TOKEN",
}

// sandbox lets agents that may do everything run as root, where the job says
// that it is a sandbox.
func (x *action) sandbox(h *host, skip bool) error {
	if !skip || runtime.GOOS == "windows" || os.Geteuid() != 0 {
		return nil
	}
	if !x.in.Sandboxed {
		return &problem.Problem{Class: problem.ClassDenied, Where: "input dangerously-skip-permissions",
			What: "the agent CLI refuses it for root, unless it is told that it runs in a sandbox",
			Hint: "run the job as another user, or set sandboxed: true in a container that holds nothing of value"}
	}
	h.agents = append(h.agents, "IS_SANDBOX=1")
	return nil
}

// guardKey starts the proxy that keeps the model's key from agents' tools. A job
// without a key, as one of another provider, has none.
func (x *action) guardKey(h *host) (stop func(), err error) {
	if x.in.AnthropicAPIKey == "" && x.in.ClaudeCodeToken == "" {
		return func() {}, nil
	}
	p, err := keyproxy.Start(keyproxy.Options{
		Upstream: x.app.Getenv("ANTHROPIC_BASE_URL"), APIKey: x.in.AnthropicAPIKey, OAuthToken: x.in.ClaudeCodeToken,
		Environ: h.agents, Log: func(line string) { x.log.Print(x.shown("key proxy: " + line)) },
	})
	if err != nil {
		return nil, &problem.Problem{Class: problem.ClassRuntime, Where: "key proxy", What: err.Error()}
	}
	h.agents = append(h.agents, p.Env()...)
	h.proxy = p
	secrets := h.redact
	h.redact = func(s string) string { return p.Hide(secrets(s)) }
	return func() { _ = p.Close() }, nil
}

// people adds what is shown in the job: log, annotations, summary and comment.
func (x *action) people(d *drive) error {
	d.fan.Add("job log", report.NewJob(x.log, report.JobOptions{
		WorkflowID: d.run.WorkflowID, Verbose: d.o.verbose(),
		Color: x.app.Getenv("NO_COLOR") == "", Spent: d.run.Spent(), Unfinished: d.run.Unfinished(),
	}))
	if x.in.Annotations {
		d.fan.Add("annotations", report.NewAnnotations(x.log, report.AnnotationOptions{Scope: x.fileOf}))
	}
	return x.openPage(d)
}

// retell tells the summary what other parts of the run, on other machines maybe,
// have done.
func (x *action) retell(d *drive, to report.Reporter) error {
	if !d.resumed {
		return nil
	}
	path, err := d.dir("events.jsonl")
	if err != nil {
		return err
	}
	f, _, err := files.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return report.Replay(f, to)
}

// fileOf is the path of a state's file in the repository.
func (x *action) fileOf(name string) string {
	st, ok := x.scope.workflow.State(name)
	rel, err := x.place, error(nil)
	if rel == "" {
		rel, err = filepath.Rel(x.top, x.scope.path)
	}
	if !ok || err != nil || !filepath.IsLocal(rel) || strings.EqualFold(filepath.Ext(rel), ".zip") {
		return ""
	}
	if x.scope.entry != "" {
		rel = filepath.Dir(rel)
	}
	return path.Join(filepath.ToSlash(rel), st.Name)
}

// hasPrompts reports whether the workflow may need the agent CLI.
func (s *scope) hasPrompts() bool {
	for _, name := range s.workflow.Names() {
		if st, _ := s.workflow.State(name); st.Kind == protocol.Prompt {
			return true
		}
	}
	return false
}
