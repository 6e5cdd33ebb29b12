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
	once sync.Once // shows the note about the user's settings once
}

const title = "Gemini CLI"

//go:embed npm
var npm embed.FS

// Pin is the pinned version of the Gemini CLI. The CLI is a script that needs Node 20 or later on
// PATH. On Windows, which can't execute the script directly, a .cmd file starts it.
var Pin = program.Pin{
	Title: title, Package: "@google/gemini-cli", Files: program.NPMFiles(npm), Folder: "raymond-gemini-cli",
	Program: program.WindowsOr("node_modules/.bin/gemini.cmd", "node_modules/@google/gemini-cli/bundle/gemini.js"),
}

// Abilities returns the abilities of the CLI.
func Abilities() runner.Abilities {
	return runner.Abilities{
		Backend: protocol.BackendGemini, Title: title, Provider: "gcp.gemini",
		ChoosesID: true,
	}
}

// Access describes the CLI's configuration and how it reaches a model.
var Access = program.Access{
	Folder: ".gemini", FolderVariable: homeVar, URLVariable: "GOOGLE_GEMINI_BASE_URL",
	Keys:   []program.Key{{Input: "gemini-api-key", Text: "Key for the Gemini API, from a secret, for the agent gemini. Agents use it without being able to read it. The variable GOOGLE_GEMINI_BASE_URL of the step sets another URL for the API."}},
	Logins: []string{"GEMINI_", "GOOGLE_"},
	Providers: []program.Provider{
		{
			Switch: "GOOGLE_GENAI_USE_VERTEXAI",
			Names:  "GOOGLE_APPLICATION_CREDENTIALS GOOGLE_CLOUD_PROJECT GOOGLE_CLOUD_PROJECT_ID GOOGLE_CLOUD_LOCATION GOOGLE_VERTEX_BASE_URL",
		},
		{Switch: "GOOGLE_GEMINI_BASE_URL"},
	},
}

// Needs implements runner.AgentCLI.
func (b *Backend) Needs() runner.Needs {
	needs := b.CLI.Needs(b.Source(), program.Variable(b.Env, "GOOGLE_GEMINI_BASE_URL"), "generativelanguage.googleapis.com")
	if file := program.Variable(b.Env, "GOOGLE_APPLICATION_CREDENTIALS"); file != "" {
		needs.Read = append(needs.Read, file)
	}
	if h := b.home(); filepath.IsAbs(h.user) {
		needs.Write = []string{h.cliPath("tmp"), h.cliPath("history")}
	}
	return needs
}

// Furnish creates the files and folders that the CLI needs in its configuration folder. It copies
// the user's settings, login and extensions from the configuration folder for the environment
// userEnv. Secrets of MCP servers are removed from the copied settings.
func (b *Backend) Furnish(userEnv []string) error {
	from, to := home{userHome(userEnv)}, b.home()
	made := []string{filepath.Join("raymond", configFolder, "tmp"), filepath.Join("raymond", configFolder, "history")}
	err := program.CopyConfig(from.userPath(), to.userPath(), append([]string{"settings.json", "policies"}, sharedFiles...), made)
	settings, bad := from.userSettings()
	if err != nil || bad != nil || settings == nil { // the CLI itself reports invalid settings
		return err
	}
	program.RemoveServerSecrets(settings)
	data, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	return files.Write(to.userPath("settings.json"), data, 0o600)
}

// Transcripts returns the store with the CLI's conversations.
func (b *Backend) Transcripts() runner.Transcripts { return b.home().store() }

// home returns the folders of the CLI for the environment of the backend.
func (b *Backend) home() home {
	return home{userHome(b.Env)}
}

// Source describes the program of the CLI. Oldest is the first version that supports everything
// that this package needs.
func (b *Backend) Source() program.Source {
	return program.Source{
		Backend: protocol.BackendGemini, Title: title, Name: "gemini", HowTo: Pin.HowTo() + "; it needs Node.js 20 or later",
		Oldest: program.Version{0, 61, 0},
		// This home contains no settings file that keeps the CLI from reading a .env file of the
		// checkout. Making the workspace untrusted has the same effect.
		Env: b.env([]string{homeVar + "=" + filepath.Join(b.home().cliHome(), "version"), trustVar + "=false"}),
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

// prepare prepares the home folder and the conversation for an order, and escapes the order's
// prompt. It returns the path of the file with the tool rules, and notes for the user.
func (b *Backend) prepare(o *runner.Order) (rules string, notes []string, _ *runner.Failure) {
	if len(o.Prompt.Text) > maxPrompt-1024 {
		return "", nil, program.Fatal("the prompt is larger than %d MiB, the limit of the agent CLI", maxPrompt>>20)
	}
	h := b.home()
	if !filepath.IsAbs(h.user) {
		return "", nil, program.Machine("the agent CLI has no home folder: set %s", program.HomeVar())
	}
	if strings.Contains(h.cliPath(), ",") {
		return "", nil, program.Machine("the agent CLI can't read tool rules below %s: it treats the comma in the path as a separator", h.user)
	}
	note, err := h.prepare(o.Dir)
	if err != nil {
		return "", nil, program.Machine("prepare the folder of the agent CLI: %v", err)
	}
	if note != "" {
		b.once.Do(func() { notes = []string{note} })
	}
	toml, more := b.permissions(o.Prompt).rules()
	if rules, err = h.writeRules(toml); err != nil {
		return "", nil, program.Machine("write rules for the agent CLI: %v", err)
	}
	notes = append(notes, more...)
	if o.Prompt.Effort != "" {
		notes = append(notes, fmt.Sprintf("effort %q is ignored: %s has no such setting", o.Prompt.Effort, title))
	}
	more, fail := h.openConversation(o)
	o.Prompt.Text = escapePrompt(o.Prompt.Text, o.Dir)
	return rules, append(notes, more...), fail
}

// openConversation prepares the transcript of the conversation that an order starts, resumes or
// branches. It also copies the transcript of a conversation that was held in another directory.
func (h home) openConversation(o *runner.Order) (notes []string, _ *runner.Failure) {
	id, store := o.Prompt.SessionID, h.store()
	if !transcripts.IsUUID(id) {
		return nil, program.Fatal("session %.80q: %s accepts only lowercase UUIDs", id, title)
	}
	// The CLI searches all of these files for the conversation.
	if err := transcripts.CheckRegularFiles(h.cliPath(chatsDir(o.Dir)), "session-*"); err != nil {
		return nil, program.Fatal("session gone: %v", err)
	}
	if o.Prompt.Session == state.Fresh {
		// A killed invocation may have left a transcript without messages. The CLI can neither
		// resume that conversation nor start it again.
		if err := store.Clear(runner.Conversation{ID: id}, nil); err != nil {
			return nil, program.Machine("remove the old transcript of session %s: %v", id, err)
		}
		return nil, nil
	}
	_, path, fail := store.Prepare(o.Prompt, o.Dir)
	if fail == nil && o.Prompt.Session == state.Branch {
		if err := store.Branch(runner.Conversation{ID: o.Prompt.From, Dir: o.Dir}, -1, id, o.Dir); err != nil {
			return nil, program.Fatal("session gone: branch it: %v", err)
		}
		path, _, _ = store.Path(id, o.Dir)
	}
	if fail != nil || path == "" {
		return nil, fail
	}
	if err := endLastLine(path); err != nil {
		return nil, program.Fatal("resume session %s: %v", id, err)
	}
	if filepath.Dir(path) == h.cliPath(chatsDir(o.Dir)) {
		return nil, nil
	}
	// The conversation was held in another directory, such as another checkout.
	if err := store.InstallFile(id, o.Dir, path); err != nil {
		return nil, program.Fatal("resume session %s: %v", id, err)
	}
	return []string{fmt.Sprintf("session %s was held in another directory; a copy of it is resumed here", id)}, nil
}

// permissions returns the permissions of the agent in terms of the CLI. Tools that run at the
// vendor are only allowed if the key proxy allows them.
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

// args returns the command line for an order. rules is the path of the file with the tool rules.
func (b *Backend) args(o runner.PromptOrder, rules string) []string {
	h := b.home()
	args := []string{"--output-format", "stream-json", "--approval-mode", b.permissions(o).mode, "--policy=" + rules}
	if policies := h.userPath("policies"); exists(policies) {
		// Without this flag, the CLI would ignore the user's policies.
		args = append(args, "--policy="+policies)
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

// env returns the environment of the CLI: the base environment, then variables that a run requires,
// then the variables of the order. The last value of a variable counts.
func (b *Backend) env(order []string) []string {
	h := b.home()
	auth := h.userAuth()
	if program.Variable(b.Env, "GEMINI_API_KEY") != "" {
		auth = authByKey
	}
	trusts := "true"
	if b.IsUntrusted {
		trusts = "false"
	}
	required := []string{
		homeVar + "=" + h.cliHome(), authVar + "=" + auth, trustVar + "=" + trusts,
		// Don't start the CLI as a child process of itself: only one process must receive the signals.
		"GEMINI_CLI_NO_RELAUNCH=true",
		// Don't open a browser for a login, since no user could log in.
		"NO_BROWSER=true",
	}
	// A .env file of the checkout sets variables that are not set yet. These two are set, so that
	// the checkout can't change the server to which the key is sent.
	return slices.Concat([]string{"GOOGLE_GEMINI_BASE_URL=", "GOOGLE_VERTEX_BASE_URL="}, b.Env, required, order)
}

// trustVar is the variable that tells the CLI whether to trust the files in its working directory.
const trustVar = "GEMINI_CLI_TRUST_WORKSPACE"
