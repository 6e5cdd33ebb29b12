package gemini

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// Backend runs prompts with the Gemini CLI. It implements runner.Backend.
type Backend struct {
	program.CLI
	once sync.Once // the user's settings have been noted
}

const title = "Gemini CLI"

//go:embed npm
var npm embed.FS

// Pin is the pinned Gemini CLI. Its program is a script for Node 20 or later, on PATH, which Windows
// can't run as a program.
var Pin = program.Pin{
	Title: title, Package: "@google/gemini-cli", Files: program.NPMFiles(npm), Folder: "raymond-gemini-cli",
	Program: program.WindowsOr("node_modules/.bin/gemini.cmd", "node_modules/@google/gemini-cli/bundle/gemini.js"),
}

// Abilities is what the CLI can do.
func Abilities() runner.Abilities {
	return runner.Abilities{
		Backend: protocol.BackendGemini, Title: title, Provider: "gcp.gemini",
		ChoosesID: true,
	}
}

// Needs implements runner.Agent.
func (b *Backend) Needs() runner.Needs {
	needs := b.CLI.Needs(b.Source(), program.Variable(b.Env, "GOOGLE_GEMINI_BASE_URL"), "generativelanguage.googleapis.com")
	if file := program.Variable(b.Env, "GOOGLE_APPLICATION_CREDENTIALS"); file != "" {
		needs.Read = append(needs.Read, file)
	}
	if h := b.home(); filepath.IsAbs(h.user) {
		needs.Write = []string{h.ours("tmp"), h.ours("history")}
	}
	return needs
}

// Furnish makes what the CLI needs and writes in its own folder, with what is in that of another environment.
func (b *Backend) Furnish(theirs []string) error {
	from, to := home{userHome(theirs)}, b.home()
	made := []string{filepath.Join("raymond", folder, "tmp"), filepath.Join("raymond", folder, "history")}
	err := program.CopyConfig(from.theirs(), to.theirs(), append([]string{"settings.json", "policies"}, shared...), made)
	settings, bad := from.userSettings()
	if err != nil || bad != nil || settings == nil { // the CLI says what is wrong with it
		return err
	}
	program.RemoveServerSecrets(settings)
	data, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	return files.Write(to.theirs("settings.json"), data, 0o600)
}

// Transcripts are the CLI's conversations.
func (b *Backend) Transcripts() runner.Transcripts { return b.home().kept() }

// home is that of the CLI.
func (b *Backend) home() home {
	return home{userHome(b.Env)}
}

// Source is which program the CLI is. Its oldest version is the first one that reports and accepts all that this package
// relies on.
func (b *Backend) Source() program.Source {
	return program.Source{
		Backend: protocol.BackendGemini, Title: title, Name: "gemini", HowTo: Pin.HowTo() + "; it needs Node.js 20 or later",
		Oldest: program.Version{0, 61, 0},
		// This home has no settings, so nothing else would keep the CLI from a .env file of the checkout.
		Env: b.env([]string{homeVar + "=" + filepath.Join(b.home().path(), "version"), trustVar + "=false"}),
	}
}

// Run implements runner.Backend for prompts.
func (b *Backend) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	return b.CLI.Run(ctx, o, tell, program.Prompt{Source: b.Source(), Prepare: func() (program.Turn, []string, *runner.Failure) {
		rules, notes, fail := b.prepare(&o)
		s := newStream(o, tell)
		return program.Turn{
			Stream: s.Stream,
			Start: func(account *keyproxy.Account) (proc.Options, *runner.Failure) {
				s.proxy = account
				return proc.Options{Args: b.args(s.Order.Prompt, rules), Env: b.env(s.Order.Env)}, nil
			},
			Answer: s.final,
		}, notes, fail
	}})
}

// prepare makes the home ready, with the conversation as the order wants it, and the prompt. It returns the file with the rules
// for tools.
func (b *Backend) prepare(o *runner.Order) (rules string, notes []string, _ *runner.Failure) {
	if len(o.Prompt.Text) > maxPrompt-1024 {
		return "", nil, program.Fatal("the prompt is over %d MiB, which is more than the agent CLI reads", maxPrompt>>20)
	}
	h := b.home()
	if !filepath.IsAbs(h.user) {
		return "", nil, program.Machine("the agent CLI has no home folder: set %s", program.HomeVar())
	}
	if strings.Contains(h.ours(), ",") {
		return "", nil, program.Machine("the agent CLI reads no rules for tools below %s: it takes a comma for the end of a name", h.user)
	}
	note, err := h.prepare(o.Dir)
	if err != nil {
		return "", nil, program.Machine("prepare the folder of the agent CLI: %v", err)
	}
	if note != "" {
		b.once.Do(func() { notes = []string{note} })
	}
	toml, more := b.permissions(o.Prompt).rules()
	if rules, err = h.rules(toml); err != nil {
		return "", nil, program.Machine("write rules for the agent CLI: %v", err)
	}
	notes = append(notes, more...)
	if o.Prompt.Effort != "" {
		notes = append(notes, fmt.Sprintf("effort %q: %s knows no such setting", o.Prompt.Effort, title))
	}
	more, fail := h.open(o)
	o.Prompt.Text = plain(o.Prompt.Text, o.Dir)
	return rules, append(notes, more...), fail
}

// open makes the conversation of an order ready.
func (h home) open(o *runner.Order) (notes []string, _ *runner.Failure) {
	id, kept := o.Prompt.SessionID, h.kept()
	if !transcripts.IsUUID(id) {
		return nil, program.Fatal("session %.80q: %s takes UUIDs in lower case only", id, title)
	}
	if err := transcripts.CheckRegularFiles(h.ours(chats(o.Dir)), "session-*"); err != nil { // the CLI looks for one in all of them
		return nil, program.Fatal("session gone: %v", err)
	}
	if o.Prompt.Session == state.Fresh {
		// An invocation that was killed may have left one in which nobody has said anything: the CLI can neither resume
		// nor begin it.
		if err := kept.Clear(runner.Conversation{ID: id}, nil); err != nil {
			return nil, program.Machine("remove what is left of session %s: %v", id, err)
		}
		return nil, nil
	}
	_, path, fail := kept.Prepare(o.Prompt, o.Dir)
	if fail == nil && o.Prompt.Session == state.Branch {
		if err := kept.Branch(runner.Conversation{ID: o.Prompt.From, Dir: o.Dir}, -1, id, o.Dir); err != nil {
			return nil, program.Fatal("session gone: branch it: %v", err)
		}
		path, _, _ = kept.Path(id, o.Dir)
	}
	if fail != nil || path == "" {
		return nil, fail
	}
	if err := complete(path); err != nil {
		return nil, program.Fatal("resume session %s: %v", id, err)
	}
	if filepath.Dir(path) == h.ours(chats(o.Dir)) {
		return nil, nil
	}
	// It was held elsewhere: in another working copy, for one.
	if err := kept.InstallFile(id, o.Dir, path); err != nil {
		return nil, program.Fatal("resume session %s: %v", id, err)
	}
	return []string{fmt.Sprintf("session %s was held in another directory: a copy is resumed here", id)}, nil
}

// permissions are what an order lets the agent do.
func (b *Backend) permissions(o runner.PromptOrder) permissions {
	mode, known := modes[o.Permissions.PermissionMode]
	if !known {
		mode = defaultMode
	}
	if o.Permissions.SkipPermissions {
		mode = yoloMode
	}
	disallowed := slices.Clone(o.Permissions.DisallowedTools)
	for tool, name := range map[string]string{"WebSearch": "googleSearch", "WebFetch": "urlContext"} {
		if !b.Proxy.AllowsTool(protocol.BackendGemini, name) {
			disallowed = append(disallowed, tool)
		}
	}
	slices.Sort(disallowed)
	return permissions{mode: mode, allowed: o.Permissions.AllowedTools, disallowed: disallowed, isUntrusted: b.IsUntrusted}
}

// args returns the command line for an order.
func (b *Backend) args(o runner.PromptOrder, rules string) []string {
	h := b.home()
	args := []string{"--output-format", "stream-json", "--approval-mode", b.permissions(o).mode, "--policy=" + rules}
	if own := h.theirs("policies"); exists(own) {
		args = append(args, "--policy="+own) // else they would not count
	}
	if o.Model != "" {
		args = append(args, "--model="+o.Model)
	}
	if o.Session == state.Fresh {
		args = append(args, "--session-id="+o.SessionID)
	} else {
		args = append(args, "--resume="+o.SessionID)
	}
	return append(args, "--prompt=")
}

// env returns the CLI's environment: the base environment, the order's own variables, and what
// must hold for a run.
func (b *Backend) env(order []string) []string {
	h := b.home()
	auth := h.userAuth()
	if program.Variable(b.Env, "GEMINI_API_KEY") != "" {
		auth = byKey
	}
	trusts := "true"
	if b.IsUntrusted {
		trusts = "false"
	}
	ours := []string{
		homeVar + "=" + h.path(), authVar + "=" + auth, trustVar + "=" + trusts,
		// One process, which gets the signals.
		"GEMINI_CLI_NO_RELAUNCH=true",
		// Nobody is there to log in with a browser.
		"NO_BROWSER=true",
	}
	// A .env file of the checkout sets what is not set: it must not say where the key is sent.
	return slices.Concat([]string{"GOOGLE_GEMINI_BASE_URL=", "GOOGLE_VERTEX_BASE_URL="}, b.Env, ours, order)
}

// trustVar is the variable that says whether the CLI obeys what is in its directory.
const trustVar = "GEMINI_CLI_TRUST_WORKSPACE"
