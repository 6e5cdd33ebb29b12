package job

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
)

// env returns a getenv function for an environment. pairs contains names and values in turn.
func env(pairs ...string) func(string) string {
	values := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return values[name] }
}

// stepEnv returns a getenv function for a step with these inputs. Like the runner, it sets every input,
// to its default if it is not in pairs. The token is empty.
func stepEnv(pairs ...string) func(string) string {
	var all []string
	for _, in := range Inputs() {
		all = append(all, InputVariable(in.Name), strings.ReplaceAll(in.Default, "${{ github.token }}", ""))
	}
	all = append(all, InputVariable("workflow"), "wf")
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, InputVariable(pairs[i]), pairs[i+1])
	}
	return env(all...)
}

func TestSettingsHaveDefaults(t *testing.T) {
	got, faults := ReadSettings(stepEnv())
	assert.Check(t, is.Len(faults, 0))
	want := Settings{
		Mode: ModeRun, Workflow: "wf", Resume: ResumeAuto, Store: StoreArtifact,
		RetentionDays: 14, Workspace: WorkspaceGit, Comment: CommentNone, OnDenied: OnDeniedFail,
		ChangedWorkflow: ChangedTake, AnswerPrefix: "/raymond", MaxJobs: 64, Versions: map[string]string{}, ModelKeys: map[string]string{},
	}
	assert.Check(t, is.DeepEqual(got, want, cmpopts.EquateEmpty()))
}

func TestSettingsAreRead(t *testing.T) {
	getenv := stepEnv("mode", "simulate", "replies", "r.yaml", "working-directory", "sub dir", "input", "  two\nlines \n", "key", "a key",
		"resume", "nightly-0a1b2c3d@REVIEW.md#2", "resume-from", "a.yml, .github/workflows/b.yaml\nc.yml", "resume-without-transcript", "TRUE",
		"changed-workflow", "new", "store", "local", "state-dir", "/s", "state-key", "AGE-SECRET-KEY-1\nAGE-SECRET-KEY-2",
		"retention-days", "400", "workspace", "none", "comment", "sticky", "env", "A,B_1\n_c", "script-env", "TOKEN", "allow-actors", "Ann bob.b", "allow-bots", "renovate[bot] *",
		"allow-events", "pull_request_target", "on-denied", "skip", "trust-checkout", "false", "allow-sudo", "true", "sandboxed", "true", "api-tools", "web_search googleSearch",
		"clis", "claude=2.1.200\n codex=/opt/codex \n", "anthropic-api-key", "sk-1", "claude-code-oauth-token", "oat", "openai-api-key", "sk-2", "gemini-api-key", "AIza", "github-token", "ghs_1",
		"job", "publish, tidy_2", "matrix-job", "work", "max-jobs", "7", "prompts", "false", "answer-prefix", "@robot:")
	want := Settings{
		Mode: ModeSimulate, Workflow: "wf", Replies: "r.yaml", WorkingDirectory: "sub dir", Input: "two\nlines", Key: "a key",
		InputFrom: []string{}, Part: []string{}, MatrixJob: "work", MaxJobs: 7, NamesJob: true, NoPrompts: true, AnswerPrefix: "@robot:",
		Resume: "nightly-0a1b2c3d", Rerun: "REVIEW.md#2",
		ResumeFrom: []string{".github/workflows/a.yml", ".github/workflows/b.yaml", ".github/workflows/c.yml"}, ResumeWithoutTranscript: true,
		ChangedWorkflow: ChangedNew, Store: StoreLocal, StateDir: "/s", StateKey: "AGE-SECRET-KEY-1\nAGE-SECRET-KEY-2",
		RetentionDays: 400, Workspace: WorkspaceNone, Comment: CommentSticky,
		Env: []string{"A", "B_1", "_c"}, ScriptEnv: []string{"TOKEN"},
		Rules:    Rules{AllowActors: []string{"Ann", "bob.b"}, AllowBots: []string{"renovate[bot]", "*"}, AllowEvents: []string{"pull_request_target"}},
		OnDenied: OnDeniedSkip, TrustCheckout: new(false), APITools: []string{"web_search", "googleSearch"}, AllowSudo: true, Sandboxed: true,
		Versions: map[string]string{"claude": "2.1.200"}, ModelKeys: map[string]string{"anthropic-api-key": "sk-1", "claude-code-oauth-token": "oat", "openai-api-key": "sk-2", "gemini-api-key": "AIza"}, GitHubToken: "ghs_1",
	}
	got, faults := ReadSettings(getenv)
	assert.Check(t, is.Len(faults, 0))
	assert.Check(t, is.DeepEqual(got, want))
}

// formatProblem formats a problem with an input as one line.
func formatProblem(f InputProblem) string {
	text := f.Input + ": "
	if f.Value != "" {
		text += fmt.Sprintf("%q: ", f.Value)
	}
	return strings.TrimSuffix(text+f.What+"; "+f.Hint, "; ")
}

func TestWrongInputsAreFaults(t *testing.T) {
	for _, test := range []struct {
		inputs string // inputs in the form name=value, separated by |
		want   []string
	}{
		{"workflow=", []string{"workflow: is missing; name the folder, archive or state file to run"}},
		{"answer-prefix=two words", []string{`answer-prefix: "two words": use one word of at most 50 bytes that doesn't begin with > or <`}},
		{"mode=simulated|replies=r.yaml|store=loca|state-dir=/s", []string{
			`mode: "simulated": use one of run, lint, diagram, simulate; did you mean simulate?`, `store: "loca": use one of artifact, local; did you mean local?`,
		}},
		{"replies=r.yaml", []string{`replies: "r.yaml": has no effect with mode: run; it needs mode: simulate`}},
		{"input=x|input-from=issue.body", []string{`input-from: "issue.body": can't be combined with input; set only one of them`}},
		{"input-from=github.event.issue.body", []string{`input-from: "github.event.issue.body": "github.event.issue.body" is not a path into an event's payload; name fields as in issue.body, without github.event`}},
		{"store=local", []string{"state-dir: is missing; store: local needs a directory"}},
		{"resume=Always", []string{`resume: "Always": use auto, never, require or a workflow id; ids have 1 to 64 lowercase letters, digits or hyphens`}},
		{"resume=auto@5", []string{`resume: "auto@5": use a workflow id, then @ and the number of a state execution or a state; ID@57, ID@REVIEW for the last execution of REVIEW, ID@REVIEW#2 for its second`}},
		{"retention-days=014", []string{`retention-days: "014": use a whole number from 1 to 400`}},
		{"allow-actors=renovate[bot]", []string{`allow-actors: "renovate[bot]": "renovate[bot]" is not the login of a person; list bots in allow-bots`}},
		{"env=ACTIONS_RUNTIME_TOKEN", []string{`env: "ACTIONS_RUNTIME_TOKEN": is never passed on to agents or scripts; remove it`}},
		{"script-env=github_output", []string{`script-env: "github_output": is never passed on to agents or scripts; remove it`}},
		{"env=TOKEN=hunter2", []string{"env: contains something that is not the name of a variable; list names, without values"}},
		{"resume-from=../a.yml", []string{`resume-from: "../a.yml": "../a.yml" is not a workflow file; use names such as nightly.yml`}},
		{"clis=claude=latest\ncommand=/bin/x\ncodex=1.2.3\ncodex=/opt/codex", []string{
			`clis: "claude=latest": use an exact version or a path; as in claude=2.1.330 or claude=/opt/claude`,
			`clis: "command=/bin/x": begin the line with claude=, codex=, gemini=`, `clis: "codex=/opt/codex": sets codex again; use one line for each agent CLI`,
		}},
		{"args=--timeout=20m 'oops", []string{`args: "--timeout=20m 'oops": contains a quote that is not closed`}},
		{"args=--effort=${{ inputs.effort }}", []string{`args: "--effort=${{ inputs.effort }}": contains an expression, whose value could add flags; write the values of flags into the workflow file`}},
		{"args=20m -v --grace", []string{`args: "20m" is not a flag; write --FLAG=VALUE`, `args: "-v" is not a flag; write --FLAG=VALUE`, `args: --grace has no value`}},
		{"key=" + strings.Repeat("k", 201), []string{`key: "` + strings.Repeat("k", 77) + `…": has 201 bytes, more than 200`}},
		{"part=main_work1,Main|key=k", []string{`part: "main_work1,Main": "Main" is not the name of an agent; use names from the output matrix`}},
		{"part=main_work1|key=k|resume=never", []string{`part: "main_work1": can't be combined with resume: never; remove one of them`}},
		{"part=main_work1|key=k|store=local|state-dir=/s", []string{`part: "main_work1": has no effect with store: local; it needs store: artifact, with which the jobs of a matrix find the run`}},
		{"max-jobs=257", []string{`max-jobs: "257": use a whole number from 1 to 256`}},
		{"job=publish", []string{"key: is missing: a step with the input job shares its run with other jobs, but the default key is only for this job; set the same key in all jobs of the run"}},
		{"anthropic-api-key=sk-hunter2 x", []string{"anthropic-api-key: contains spaces, line breaks or other characters that are not part of a key"}},
		{"mode=x|retention-days=x|sandboxed=x", []string{
			`mode: "x": use one of run, lint, diagram, simulate`, `retention-days: "x": use a whole number from 1 to 400`,
			`sandboxed: "x": use true or false`,
		}},
	} {
		var pairs, got []string
		for _, pair := range strings.Split(test.inputs, "|") {
			name, value, _ := strings.Cut(pair, "=")
			pairs = append(pairs, name, value)
		}
		_, faults := ReadSettings(stepEnv(pairs...))
		for _, f := range faults {
			got = append(got, formatProblem(f))
		}
		assert.Check(t, is.DeepEqual(got, test.want), "%.100q", test.inputs)
	}
}

// TestSecretsAreInNoProblem checks that no problem contains the value of a secret input, whatever is
// wrong with the value.
func TestSecretsAreInNoProblem(t *testing.T) {
	for _, in := range Inputs() {
		if !in.Secret {
			continue
		}
		_, faults := ReadSettings(stepEnv(in.Name, "hunter2 \x01 hunter2", "mode", "x"))
		for _, f := range faults {
			assert.Check(t, !strings.Contains(formatProblem(f), "hunter2"), "%s: got the fault %q, want it without the value", in.Name, formatProblem(f))
		}
	}
}

func TestUnknownInputsAreFaults(t *testing.T) {
	environ := []string{
		"PATH=/bin", "INPUT_WORKFLOW=wf", "INPUT_DONE-WHEN=true", "INPUT_DONE_WHEN=hunter2", "INPUT_BUDGTE=1", "INPUT_INSIGHTS=true",
		"INPUT_TIMEOUT=20m", "INPUT_CLAUDE-VERSION=2.1.330", "INPUT_CODEX-PATH=/opt/codex", "INPUT_SUMMARY=false",
	}
	var got []string
	for _, f := range UnknownInputs(environ) {
		got = append(got, formatProblem(f))
	}
	want := []string{
		"done_when: is not an input of this action; did you mean done-when?",
		"budgte: is not an input of this action; did you mean budget?",
		"insights: is not an input of this action; docs/inputs.md lists all inputs",
		"timeout: is not an input of this action; write args: --timeout=20m",
		"claude-version: is not an input of this action; write clis: claude=2.1.330",
		"codex-path: is not an input of this action; write clis: codex=/opt/codex",
		"summary: is not an input of this action; remove it: the step summary is always written",
	}
	assert.Check(t, is.DeepEqual(got, want), "%q", environ)
}

// TestInputsBecomeFlags checks that each value becomes one argument, whatever it contains, and that an
// empty input sets no flag.
func TestInputsBecomeFlags(t *testing.T) {
	for _, test := range []struct {
		getenv func(string) string
		want   []string
	}{
		{stepEnv(), nil},
		{stepEnv("budget", " 2.50 ", "dangerously-skip-permissions", "False", "model", "--help"),
			[]string{"--budget=2.50", "--model=--help", "--dangerously-skip-permissions=false"}},
		{stepEnv("meta", "a=1\n\n  b=x y=z \r\n"), []string{"--meta=a=1", "--meta=b=x y=z"}},
		{stepEnv("done-when", "go vet ./...\ngo test -run 'A B'", "claude-args", "--a\nb c"),
			[]string{"--done-when=go vet ./...", "--done-when=go test -run 'A B'", "--claude-arg=--a", "--claude-arg=b c"}},
		{stepEnv("clis", "gemini=/a b\ncodex=1.2.3\nclaude=/c"), []string{"--claude=/c", "--gemini=/a b"}},
		{stepEnv("args", " --keep-going --timeout 20m\n--effort='$x \"y'\" z\" --timeout=\"\"\r\n--verbose=false "),
			[]string{"--keep-going=true", "--timeout=20m", `--effort=$x "y z`, "--timeout=", "--verbose=false"}},
		{stepEnv("args", "--timeout=20m --model=x"), nil},
		{env("RUNNER_ENVIRONMENT", "github-hosted"), []string{"--deadline=5h30m"}},
		{env("RUNNER_ENVIRONMENT", "github-hosted", "INPUT_DEADLINE", "1h"), []string{"--deadline=1h"}},
	} {
		assert.Check(t, is.DeepEqual(Arguments(test.getenv), test.want), "want %q", test.want)
	}
	for flag, want := range map[string]string{"--claude": "clis", "--budget": "budget", "--hold": "args", "hold": "", "--nothing": "", "": ""} {
		assert.Check(t, is.Equal(InputOfFlag(flag), want), "input of %q", flag)
	}
}

// TestArgsAcceptsOnlyHarmlessFlags checks the input args with every flag of a run: it accepts only the listed
// flags, and refuses every other one by name. Problems with values name the flag.
func TestArgsAcceptsOnlyHarmlessFlags(t *testing.T) {
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	options.New(flags).AddAll()
	accepted := 0
	flags.VisitAll(func(f *pflag.Flag) {
		getenv := stepEnv("args", "--"+f.Name)
		if f.NoOptDefVal == "" {
			getenv = stepEnv("args", "--"+f.Name+" '\x01'")
		}
		_, found := ReadSettings(getenv)
		if !slices.Contains(argsFlags, f.Name) {
			assert.Check(t, len(found) > 0 && strings.HasPrefix(found[0].What, "--"+f.Name+" is not accepted"), "%s: got %v", f.Name, found)
			return
		}
		accepted++
		assert.Check(t, is.Len(found, 0), f.Name)
		o, err := options.ReadJob(Arguments(getenv), FlagLabel)
		assert.Check(t, err)
		if err := o.Check(); f.NoOptDefVal == "" {
			assert.Check(t, err != nil && strings.HasPrefix(err.Error(), "usage: input args: --"+f.Name+": "), "%s: got %v", f.Name, err)
		}
	})
	assert.Check(t, is.Equal(accepted, len(argsFlags)), "flags of a run")
}
