package gemini

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/clitest"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// TestInexactRulesBecomeStricter checks rules that the CLI can't express exactly: an allow rule
// must be dropped, and a deny rule must deny all calls of the tool.
func TestInexactRulesBecomeStricter(t *testing.T) {
	for _, c := range []struct {
		allowed, disallowed string
		want                []string // expected lines of the rules, in order
		notes               int
	}{
		{allowed: "Read", want: []string{`toolName = ["read_file","read_many_files"]`, `decision = "allow"`, `priority = 900`}},
		{allowed: "Bash(git log:*)", want: []string{`toolName = ["run_shell_command"]`, `commandPrefix = "git log"`, `decision = "allow"`}},
		{allowed: "Bash(npm run test *)", want: []string{`commandPrefix = "npm run test"`, `decision = "allow"`}},
		{allowed: `Bash(echo "a" & b)`, want: []string{`commandRegex = "echo \\\\\"a\\\\\" & b\""`, `decision = "allow"`}},
		{allowed: "Bash", want: []string{`toolName = ["run_shell_command"]`, `decision = "allow"`, `allowRedirection = true`}},
		{allowed: "Bash(git * main)", notes: 1}, {allowed: "Read(./secrets/**)", notes: 1}, {allowed: "Unheard", notes: 1}, {allowed: "x(", notes: 1},
		{allowed: "mcp__srv__find", want: []string{`toolName = ["find"]`, `mcpName = "srv"`, `decision = "allow"`}},
		{allowed: "mcp__srv", want: []string{`toolName = ["*"]`, `mcpName = "srv"`}},
		{allowed: "list_background_processes", want: []string{`toolName = ["list_background_processes"]`}},
		{disallowed: "Edit", want: []string{`toolName = ["write_file","replace"]`, `decision = "deny"`, `priority = 999`}},
		{disallowed: "Read(./secrets/**)", want: []string{`toolName = ["read_file","read_many_files"]`, `decision = "deny"`}, notes: 1},
		{disallowed: "Bash(git * main)", want: []string{`toolName = ["run_shell_command"]`, `decision = "deny"`}, notes: 1},
		{disallowed: "Bash(git push)", want: []string{`commandPrefix = "git push"`, `decision = "deny"`}},
		{disallowed: "Unheard", notes: 1},
	} {
		list := func(entry string) []string {
			if entry == "" {
				return nil
			}
			return []string{entry}
		}
		base, _ := permissions{mode: defaultMode}.rules()
		toml, notes := permissions{mode: defaultMode, allowed: list(c.allowed), disallowed: list(c.disallowed)}.rules()
		rest, ok := strings.CutPrefix(toml, base)
		assert.Check(t, ok && len(notes) == c.notes && (len(c.want) == 0) == (rest == ""), "%s%s: got rules %s, notes %q, want %d", c.allowed, c.disallowed, toml, notes, c.notes)
		for _, line := range c.want {
			_, after, found := strings.Cut(rest, line+"\n")
			assert.Check(t, found, "%s%s: got %s, want %s", c.allowed, c.disallowed, rest, line)
			rest = after
		}
	}
	always, _ := permissions{mode: yoloMode}.rules()
	assert.Check(t, is.Contains(always, `toolName = ["enter_plan_mode","exit_plan_mode","ask_user"]`+"\n"+`decision = "deny"`), "rules of every mode: leaving plan mode would allow everything")
	toml, _ := (permissions{mode: planMode, allowed: []string{"Edit"}}).rules()
	assert.Check(t, !strings.Contains(toml, "write_file"), "plan: got %s, want nothing allowed", toml)
}

// TestUserSettingsAreKept checks that a run overrides only those settings that it requires.
func TestUserSettingsAreKept(t *testing.T) {
	h := home{t.TempDir()}
	assert.NilError(t, os.MkdirAll(h.userPath(), 0o700))
	assert.NilError(t, os.WriteFile(h.userPath("settings.json"), []byte(`{ // mine
		"mcpServers": {"a": {"url": "http://x/*no comment*/"}}, /* and
		*/ "general": {"maxAttempts": 9, "vimMode": true}, "security": {"auth": {"selectedType": "oauth-personal"}}}`), 0o600))
	assert.NilError(t, os.WriteFile(h.userPath("oauth_creds.json"), []byte(`{}`), 0o600))
	note, err := h.prepare(t.TempDir())
	assert.Assert(t, note == "" && err == nil, "%s %v", note, err)
	data, err := os.ReadFile(h.cliPath("settings.json"))
	assert.NilError(t, err)
	var got struct {
		MCP     map[string]map[string]string `json:"mcpServers"`
		General struct {
			Max       int  `json:"maxAttempts"`
			Vim       bool `json:"vimMode"`
			Retention struct{ Enabled *bool }
		}
	}
	assert.NilError(t, json.Unmarshal(data, &got))
	assert.Check(t, got.MCP["a"]["url"] == "http://x/*no comment*/" && got.General.Max == 3 && got.General.Vim && h.userAuth() == "oauth-personal", "settings: got %s, want the user's with 3 attempts", data)
	if _, err := os.Stat(h.cliPath("oauth_creds.json")); err != nil && runtime.GOOS != "windows" {
		t.Errorf("login of the user: %v, want it linked", err)
	}
	assert.NilError(t, os.WriteFile(h.userPath("settings.json"), []byte(`{`), 0o600))
	if note, err := h.prepare(t.TempDir()); !strings.Contains(note, "could not be read") || err != nil {
		t.Errorf("invalid settings: got note %q, %v, want a note", note, err)
	}
}

// TestEachDirectoryGetsAFolder checks that several directories can be registered in projects.json,
// and that directories that were deleted are removed.
func TestEachDirectoryGetsAFolder(t *testing.T) {
	h := home{t.TempDir()}
	one, two, gone := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "gone")
	assert.NilError(t, os.Mkdir(gone, 0o700))
	for _, dir := range []string{gone, one} {
		_, err := h.prepare(dir)
		assert.NilError(t, err)
	}
	assert.NilError(t, os.Remove(gone))
	_, err := h.prepare(two)
	assert.NilError(t, err)
	data, err := os.ReadFile(h.cliPath("projects.json"))
	assert.NilError(t, err)
	var got projects
	assert.NilError(t, json.Unmarshal(data, &got))
	for _, dir := range []string{one, two} {
		owner, err := os.ReadFile(h.cliPath("tmp", got.Projects[dir], ".project_root"))
		assert.Check(t, string(owner) == dir && err == nil && len(got.Projects) == 2, "folders of directories: got %s, %q, %v, want the two that exist, each with its path in the file", data, owner, err)
	}
}

// TestSimilarTranscriptNames checks that two conversations whose ids start with the same characters
// are not mistaken for each other. The name of a transcript contains only the start of the id.
func TestSimilarTranscriptNames(t *testing.T) {
	b := &Backend{CLI: program.CLI{Env: []string{"HOME=" + t.TempDir(), "USERPROFILE=" + t.TempDir()}}}
	stored := filepath.Join(t.TempDir(), "t.jsonl")
	c := runner.Conversation{ID: uuid.NewString(), Dir: t.TempDir()}
	assert.NilError(t, os.WriteFile(stored, []byte(`{"sessionId":"`+c.ID+`","projectHash":"x"}`+"\n"+`{"id":"1","type":"user","content":"hi"}`+"\n"), 0o600))
	assert.NilError(t, b.Transcripts().Place(c, stored))
	other := c
	other.ID = c.ID[:8] + uuid.NewString()[8:]
	n, ok := b.Transcripts().Length(other)
	assert.Check(t, !ok, "length of another conversation: got %d, want none", n)
	assert.Check(t, is.ErrorContains(b.Transcripts().Place(other, stored), "of another session"), "transcript of another conversation: want it refused")
}

// TestTokensOfAMessageCountOnce checks that only the last version of a message is counted if a
// transcript contains the message several times.
func TestTokensOfAMessageCountOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	const head = `{"sessionId":"s","projectHash":"x"}` + "\n" + `{"id":"0","type":"gemini","content":"before","tokens":{"input":7,"output":7},"model":"m"}` + "\n"
	assert.NilError(t, os.WriteFile(path, []byte(head+`{"id":"1","type":"user","content":[{"text":"hi"}]}
{"$set":{"messages":[{"id":"0","type":"gemini","content":"old","tokens":{"input":100}}]}}
{"id":"2","type":"gemini","content":"wait","model":"m"}
{"id":"2","type":"gemini","content":"wait","toolCalls":[{"id":"t"}],"tokens":{"input":1000,"output":20,"cached":300,"thoughts":5,"tool":2},"model":"m"}
{"id":"3","type":"gemini","content":[{"text":"hm","thought":true},{"text":"do"},{"text":"ne"}],"tokens":{"input":10,"output":"x"},"model":"m"}
no JSON
{"id":"4","type":"info","content":"note"}
{"id":"5","type":"gemini","content":"!","model":"m"}`), 0o600))
	got, err := usageFrom(path, int64(len(head)))
	assert.NilError(t, err)
	want := []state.Usage{{Model: "m", Input: 712, CacheRead: 300, Output: 25}}
	diff := cmp.Diff(want, got)
	assert.Check(t, diff == "", "tokens (-want +got):\n%s", diff)
}

// TestClassify checks the failures for error messages. Some messages come from the real CLI, and
// some are only sent by the vendor's servers.
func TestClassify(t *testing.T) {
	now := time.Date(2026, 11, 22, 19, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		words, last string
		status      int
		class       runner.Class
		begin       string
		reset       time.Duration // time from now; 0 if unknown
	}{
		{"You have exhausted your daily quota on this model.", "", 429, runner.UsageLimit, "usage limit: ", 13 * time.Hour},
		{"Quota exceeded. Please retry in 400.5s", "TerminalQuotaError: x", 429, runner.UsageLimit, "usage limit: ", 400 * time.Second},
		{"limit: 0", "TerminalQuotaError: x", 429, runner.UsageLimit, "usage limit: ", 0},
		{"No capacity available for model", "TerminalQuotaError: x", 429, runner.Service, "the agent CLI reports", 0},
		{"x", "", 499, runner.Fatal, "bad request: ", 0},
		{"x", "", 413, runner.Fatal, "prompt too long: ", 0},
		{"The response was blocked for safety reasons", "", 0, runner.Fatal, "the model refused: ", 0},
		{"exception TypeError: fetch failed sending request", "code: 'ECONNREFUSED'", 0, runner.Service, "the agent CLI reports", 0},
		{"exception TypeError: fetch failed sending request", "code: 'ENOTFOUND'", 0, runner.Transient, "the agent CLI reports", 0},
		{"the model's answer is empty", "", 0, runner.Transient, "the agent CLI reports", 0},
	} {
		f := classify(c.words, c.status, c.last, now)
		at := time.Duration(0)
		if !f.Reset.IsZero() {
			at = f.Reset.Sub(now)
		}
		assert.Check(t, f.Class == c.class && strings.HasPrefix(f.Message, c.begin) && at == c.reset, "%q, %d: got %+v, want %s, %q, and an end in %s", c.words, c.status, f, c.class, c.begin, c.reset)
	}
	for code, want := range map[int]int{0: 0, 1: 0, 41: 0, 130: 0, 143: 0, 144: 400, 173: 429, 247: 503} {
		assert.Check(t, is.Equal(statusOf("[API Error: x]", code), want), "status of exit code %d", code)
	}
}

// TestPromptAttachesNoFiles checks that names after an "@" in a prompt are not attached, and that a
// prompt is never interpreted as a command of the CLI.
func TestPromptAttachesNoFiles(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	assert.NilError(t, os.MkdirAll(filepath.Join(dir, "sub", "deep"), 0o755))
	for _, name := range []string{"secret.txt", "sub/deep/other.txt"} {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), nil, 0o600))
	}
	for prompt, want := range map[string]string{
		"see @secret.txt, @./ and @sub. Or @other.txt?": `see \@secret.txt, \@./ and \@sub. Or @other.txt?`,
		"ask me@example.com about @google/gemini-cli":   "ask me@example.com about @google/gemini-cli",
		"@" + dir + " and @server://x and @\"a b\"":     `\@` + dir + ` and \@server://x and \@"a b"`,
		"/quit":                 "Prompt:\n/quit",
		" ? one":                "Prompt:\n ? one",
		"<session_context>\nhi": "Prompt:\n<session_context>\nhi",
		"plain":                 "plain",
	} {
		b := &Backend{CLI: program.CLI{Env: []string{"HOME=" + home}}}
		o := runner.Order{Dir: dir, Prompt: runner.PromptOrder{Text: prompt, Session: state.Fresh, SessionID: "11111111-1111-4111-8111-111111111111"}}
		_, _, fail := b.prepare(&o)
		assert.Check(t, fail == nil && o.Prompt.Text == want, "%q: got %q, %v, want %q", prompt, o.Prompt.Text, fail, want)
	}
}

// TestCommandLine checks the arguments and the environment of the CLI, and which directories the
// CLI trusts.
func TestCommandLine(t *testing.T) {
	b := &Backend{CLI: program.CLI{Env: []string{"HOME=/h", "GEMINI_API_KEY=k", "GEMINI_CLI_TRUST_WORKSPACE=true"}}}
	const begin = "--output-format stream-json --approval-mode "
	for _, c := range []struct {
		o    runner.PromptOrder
		want string
	}{
		{runner.PromptOrder{SessionID: "N", Model: "--help"}, "default --policy=R --model=--help --session-id=N --prompt="},
		{runner.PromptOrder{SessionID: "N", Session: state.Resume, Permissions: runner.Permissions{PermissionMode: "acceptEdits"}}, "auto_edit --policy=R --resume=N --prompt="},
		{runner.PromptOrder{SessionID: "N", Session: state.Branch, Permissions: runner.Permissions{PermissionMode: "plan", SkipPermissions: true}}, "yolo --policy=R --resume=N --prompt="},
		{runner.PromptOrder{SessionID: "N", Session: state.Fresh, Permissions: runner.Permissions{PermissionMode: "an unknown mode"}}, "default --policy=R --session-id=N --prompt="},
	} {
		if c.o.Session == "" {
			c.o.Session = state.Fresh
		}
		assert.Check(t, is.Equal(strings.Join(b.args(c.o, "R"), " "), begin+c.want), "%+v", c.o)
	}
	for untrusted, want := range map[bool]string{true: "false", false: "true"} {
		b.IsUntrusted = untrusted
		env := b.env(nil)
		assert.Check(t, program.Variable(env, trustVar) == want && program.Variable(env, homeVar) == filepath.Join("/h", ".gemini", "raymond") && program.Variable(env, authVar) == authByKey, "untrusted %v: environment %q", untrusted, env)
	}
	untrusted, _ := permissions{mode: yoloMode, isUntrusted: true}.rules()
	trusted, _ := permissions{mode: yoloMode}.rules()
	assert.Check(t, strings.Contains(untrusted, `argsPattern = "."`) && !strings.Contains(trusted, "argsPattern"), "rules of a directory that is not trusted: got %s, want rules that allow what the mode does", untrusted)
}

// TestVendorToolsAreOffByDefault checks that web tools are denied unless the user allows them,
// since the key proxy would reject their requests.
func TestVendorToolsAreOffByDefault(t *testing.T) {
	for want, tools := range map[string][]string{"WebFetch WebSearch": nil, "WebFetch": {"googleSearch"}, "": {"googleSearch", "urlContext"}} {
		p, err := keyproxy.Start(keyproxy.Options{Vendors: []keyproxy.Vendor{{API: API{}, Credential: keyproxy.Credential{Text: "k"}}}, Tools: tools, IsOpen: true})
		assert.NilError(t, err)
		defer p.Close()
		b := &Backend{CLI: program.CLI{Proxy: p}}
		assert.Check(t, is.Equal(strings.Join(b.permissions(runner.PromptOrder{}).disallowed, " "), want), "with %q allowed: turned off", tools)
	}
}

// TestLinksAreNotResumed checks that openConversation returns a failure if there is a link among
// the transcripts. The CLI would open it, since it searches all transcripts for a conversation.
func TestLinksAreNotResumed(t *testing.T) {
	h, dir := home{t.TempDir()}, t.TempDir()
	file := filepath.Join(h.cliPath(chatsDir(dir)), "session-of-another.jsonl")
	assert.NilError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	assert.NilError(t, os.Symlink("elsewhere", file))
	order := &runner.Order{Prompt: runner.PromptOrder{Session: state.Resume, SessionID: "0198c0de-0000-4000-8000-000000000001"}, Dir: dir}
	_, f := h.openConversation(order)
	assert.Check(t, f != nil && strings.Contains(f.Message, file), "resume beside a link: got %v, want it refused", f)
}

const (
	firstPiece = `{"candidates":[{"content":{"parts":[{"text":"\"usageMetadata\":{}"}]}}],"usageMetadata":{"promptTokenCount":1000,"cachedContentTokenCount":300},"responseId":"r"}`
	lastPiece  = `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1000,"cachedContentTokenCount":300,` +
		`"toolUsePromptTokenCount":7,"candidatesTokenCount":20,"thoughtsTokenCount":30,"totalTokenCount":1057},"responseId":"r"}`
)

// TestAnswersAreCounted checks the tokens that are counted for responses. Each event replaces the
// counts of earlier events. Cached tokens are part of the prompt and must not be counted twice.
// Thoughts must be counted as output.
func TestAnswersAreCounted(t *testing.T) {
	counted := keyproxy.Sum{Usage: state.Usage{Model: "m", Input: 707, Output: 50, CacheRead: 300}}
	for name, c := range map[string]struct {
		events []string
		whole  string // an object or an array, instead of events
		want   keyproxy.Sum
	}{
		"ended":         {events: []string{firstPiece, lastPiece}, want: counted},
		"broken off":    {events: []string{firstPiece}, want: keyproxy.Sum{Usage: state.Usage{Model: "m", Input: 700, CacheRead: 300}}},
		"no count":      {events: []string{`{"candidates":[{}]}`}},
		"an error":      {events: []string{`{"error":{"code":503}}`}},
		"no JSON":       {events: []string{"\x00{"}},
		"an object":     {whole: lastPiece, want: counted},
		"an array":      {whole: "\n[" + firstPiece + ",\n" + lastPiece + "]", want: counted},
		"a whole error": {whole: `{"error":{}}`},
	} {
		n := &counter{keyproxy.FinalCounter{Model: "m", Layout: apiLayout}}
		for _, e := range c.events {
			n.Event([]byte(e))
		}
		if c.whole != "" {
			n.Whole([]byte(c.whole))
		}
		got := keyproxy.Sum{}
		if n.Message() != nil {
			got = keyproxy.Sums{}.Add(n.Message())["m"]
		}
		assert.Check(t, is.Equal(got, c.want), name)
	}
}

// TestRecordedStreams checks the results for recorded output of the real CLI, with its transcripts.
func TestRecordedStreams(t *testing.T) { clitest.Replay(t, play) }

func play(t *testing.T, c clitest.Recording) clitest.Result {
	t.Helper()
	const id = "11111111-1111-4111-8111-111111111111"
	b, dir := &Backend{CLI: program.CLI{Env: []string{"HOME=" + t.TempDir(), "USERPROFILE=" + t.TempDir()}}}, t.TempDir()
	folder := b.home().cliPath(chatsDir(dir))
	assert.NilError(t, os.MkdirAll(filepath.Join(folder, id), 0o700))
	for name, text := range c.Beside {
		assert.NilError(t, os.WriteFile(filepath.Join(folder, id, name), text, 0o600))
	}
	o := runner.Order{Dir: dir, Prompt: runner.PromptOrder{Session: c.Mode, SessionID: id}}
	if len(c.After) > 0 {
		assert.NilError(t, os.WriteFile(filepath.Join(folder, "session-2000-01-01T00-00-"+id[:8]+".jsonl"), c.After, 0o600))
	}
	s := newStream(o, nil)
	_, _ = s.Write(c.Stdout)
	s.Flush()
	var got clitest.Result
	got.Answer, got.Failure = s.final(c.Exit)
	if got.Failure != nil {
		got.Failure.Reset = time.Time{} // depends on the current time
	}
	err := b.Transcripts().Read(runner.Conversation{ID: id, Dir: dir}, 0, -1, func(m runner.Message) error {
		got.Messages = append(got.Messages, m)
		return nil
	})
	assert.Check(t, err == nil || len(c.After) == 0, err)
	return got
}

// FuzzStream checks that no output of a CLI causes a panic or makes the reader exceed its limits.
func FuzzStream(f *testing.F) {
	f.Add([]byte(`{"type":"init","session_id":"s"}` + "\n" + `{"type":"result","status":"error","error":{"message":"[API Error: {\"error\":{\"code\":1}}]"}}`))
	f.Fuzz(func(_ *testing.T, output []byte) {
		s := newStream(runner.Order{Verbosity: runner.VerbosityFull}, nil)
		_, _ = s.Write(output)
		s.Flush()
		_, _ = s.final(proc.Exit{Code: 145})
	})
}
