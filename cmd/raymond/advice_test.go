package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/internal/installtest"
)

// adviceCLI is a fake agent CLI that fails as its test asks for. A file called "no" contains lines, each of which
// is a shell condition, a colon and an error message. If a line's condition is true for the arguments and
// the prompt, the CLI fails with the line's message.
const adviceCLI = `#!/bin/bash
if [ "$1" = --version ]; then echo '2.1.330 (stub)'; exit; fi
args="$*" prompt=$(cat) id=new cost='"total_cost_usd":0.01,' stop=end_turn
while [ $# -gt 0 ]; do case $1 in --session-id) id=$2 ;; --resume) [ $id = new ] && id=$2 ;; esac; shift; done
[[ $prompt == *free* ]] && cost=
echo '{"type":"system","subtype":"init","session_id":"'$id'","model":"stub-1"}'
while IFS=: read -r condition words; do
	[ -n "$condition" ] && eval "$condition" || continue
	[ "$words" = refusal ] && stop=refusal
	echo '{"type":"result","subtype":"success","is_error":true,"result":"'$words'","stop_reason":"'$stop'","num_turns":1,"session_id":"'$id'",'$cost'"modelUsage":{}}'
	exit 1
done <"$STUB/no"
text=$(sed -n 's/^answer: //p' <<<"$prompt")
text=${text//\"/\\\"}
echo '{"type":"assistant","message":{"id":"m1","model":"stub-1","content":[{"type":"text","text":"'$text'"}]}}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"","stop_reason":"end_turn","num_turns":1,"session_id":"'$id'",'$cost'"modelUsage":{}}'
`

// TestAdviceHelps checks the advice in errors of stopped runs. After the user has done the step that the
// error asks for, the command in the error must complete the run. Otherwise, a resume must stop for the
// same reason again.
func TestAdviceHelps(t *testing.T) {
	const (
		key  = "ANTHROPIC_API_KEY=sk-ant-of-a-test"
		talk = "-- wf/START.md --\nanswer: <goto>A.md</goto>\n-- wf/A.md --\nanswer: <result>x</result>\n"
		ask  = "-- wf/START.md --\nanswer: <result>x</result>\n"
	)
	for name, c := range map[string]advice{
		"attempts": {"-- wf/START.md --\n---\ndone_when: test -e done\nmax_attempts: 1\n---\nanswer: <result>x</result>\n", "", "", "to try again: raymond resume w", "-- done --\n", false},
		"attempts, then suspended": {"-- wf/START.md --\n---\ndone_when: test -e done\nmax_attempts: 1\non_exhausted: suspend\n---\nanswer: <result>x</result>\n", "", "",
			"to resume: raymond resume w", "-- done --\n", false},
		"a script":                {"-- wf/START.sh --\nexit 3\n", "", "", "fix the cause, then: raymond resume w", "-- wf/START.sh --\necho '<result>x</result>'\n", false},
		"a long prompt":           {strings.Replace(ask, "answer", "long\nanswer", 1), "[[ $prompt == *long* ]]:Prompt is too long", "", "shorten START.md and its input, or split it into states that lead on by <reset>, then: raymond resume w", ask, false},
		"a long conversation":     {talk, "[[ $args == *--resume* ]]:Prompt is too long", "", "reset the conversation in a state before A.md, then: raymond rerun w --from START.md", strings.Replace(talk, "<goto>A.md</goto>", "<reset>A.md</reset>", 1), false},
		"a conversation is gone":  {talk, "[[ $args == *--resume* ]]:No conversation found", "", "reset the conversation in a state before A.md, then: raymond rerun w --from START.md", strings.Replace(talk, "<goto>A.md</goto>", "<reset>A.md</reset>", 1), false},
		"another bad request":     {strings.Replace(ask, "answer", "odd\nanswer", 1), "[[ $prompt == *odd* ]]:invalid_request", "", "change START.md, then: raymond resume w", ask, false},
		"a refusal":               {strings.Replace(ask, "answer", "odd\nanswer", 1), "[[ $prompt == *odd* ]]:refusal", "", "change START.md, then: raymond resume w", ask, false},
		"an unknown model":        {strings.Replace(ask, "answer", "---\nmodel: odd\n---\nanswer", 1), "[[ $args == *odd* ]]:There's an issue with the selected model", "", "name another model, in START.md where that names one, else by --model, then: raymond resume w", ask, false},
		"nobody logged in":        {ask, "[ -z \"$ANTHROPIC_API_KEY\" ]:Not logged in · Please run /login", "", "set a valid ANTHROPIC_API_KEY or ", key, false},
		"a conversation is bad":   {talk, "[[ $args == *--resume* ]]:API Error. 400 messages.3. tool_use ids were found without tool_result blocks", "", "reset the conversation in a state before A.md, then: raymond rerun w --from START.md", strings.Replace(talk, "<goto>A.md</goto>", "<reset>A.md</reset>", 1), false},
		"a refusal later on":      {talk, "[[ $args == *--resume* ]]:refusal", "", "reset the conversation in a state before A.md, then: raymond rerun w --from START.md", strings.Replace(talk, "<goto>A.md</goto>", "<reset>A.md</reset>", 1), false},
		"a long answer":           {strings.Replace(ask, "answer", "odd\nanswer", 1), "[[ $prompt == *odd* ]]:Claude's response exceeded the 128000 output token maximum", "", "ask for less at once in START.md, then: raymond resume w", ask, false},
		"no extra usage":          {ask, "[ ! -e \"$STUB/paid\" ]:Extra usage is required for long context", "", "add credit or extra usage to the account", "-- paid --\n", false},
		"no credit":               {ask, "[ ! -e \"$STUB/paid\" ]:Credit balance is too low", "", "add credit or extra usage to the account of the API, or raise its limit, then: raymond resume w", "-- paid --\n", false},
		"the budget":              {talk, "", "--budget 0.005", "to resume with a larger budget: raymond resume w --budget 1.01", "", false},
		"the iterations":          {talk, "", "--max-iterations 1", "to resume with a larger limit: raymond resume w --max-iterations 2", "", false},
		"the agents":              {"-- wf/START.sh --\necho '<fork next=\"A.sh\">A.sh</fork>'\n-- wf/A.sh --\necho '<result>x</result>'\n", "", "--max-agents 1", "to try again: raymond resume w --max-agents 2", "", false},
		"the depth":               {"-- wf/START.sh --\necho '<call return=\"A.sh\">B.sh</call>'\n-- wf/B.sh --\necho '<call return=\"A.sh\">A.sh</call>'\n-- wf/A.sh --\necho '<result>x</result>'\n", "", "--max-depth 1", "to try again: raymond resume w --max-depth 2", "", false},
		"costs that nobody knows": {"-- wf/START.md --\nfree\nanswer: <goto>A.md</goto>\n-- wf/A.md --\nfree\nanswer: <goto>B.md</goto>\n-- wf/B.md --\nfree\nanswer: <goto>C.md</goto>\n-- wf/C.md --\nfree\nanswer: <result>x</result>\n", "", "", "to try again: raymond resume w --budget 0", "", true},
		"a question":              {"-- wf/START.sh --\necho '<ask next=\"A.sh\" choices=\"yes, no\">Well?</ask>'\n-- wf/A.sh --\necho '<result>x</result>'\n", "", "", "to answer: raymond resume w --answer yes (or no)", "", false},
		"a job":                   {"-- wf/START.sh --\necho '<goto>A.sh</goto>'\n-- wf/A.sh --\n# raymond: job=publish\necho '<result>x</result>'\n", "", "--job main", "to run the states that wait for a job: raymond resume w --job publish", "", true},
	} {
		t.Run(name, c.run)
	}
}

// advice is a test case: a run that stops, the expected advice, and what the user does.
type advice struct {
	files, no, flags string
	says             string // the expected advice, with the command that the test runs
	cure             string // what the user does: files to write, or a variable to set
	isEnough         bool   // a resume completes the run even without the cure
}

// run starts the run, follows the advice in its error, and checks that the run is completed then.
func (c advice) run(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	installtest.WriteProgram(t, filepath.Join(dir, "claude"), adviceCLI)
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "STUB=" + dir, "RAYMOND_CLAUDE=" + filepath.Join(dir, "claude")}
	write := func(archive string) {
		for _, f := range txtar.Parse([]byte(archive)).Files {
			assert.NilError(t, os.MkdirAll(filepath.Dir(f.Name), 0o755))
			installtest.WriteProgram(t, f.Name, string(f.Data))
		}
	}
	raymond := func(args ...string) (int, string) {
		var output bytes.Buffer
		code := (&App{Args: args, Environ: environ, Stdout: &bytes.Buffer{}, Stderr: &output}).Main()
		return code, output.String()
	}
	write(c.files + "-- no --\n" + c.no + "\n")
	code, output := raymond(append([]string{"run", "wf", "--workflow-id", "w", "--max-retries", "0"}, strings.Fields(c.flags)...)...)
	command := regexp.MustCompile(`raymond (re(?:sume|run) .*?)( \(.*\))?\n$`).FindStringSubmatch(output)
	if code == 0 || command == nil || !strings.Contains(output, "; "+c.says) {
		t.Fatalf("the run: got exit code %d and\n%s\nwant an error that says %q", code, output, c.says)
	}
	if again, output := raymond("resume", "w"); !c.isEnough && again != code {
		t.Errorf("without it: got exit code %d, want %d as before:\n%s", again, code, output)
	}
	if variable, _, _ := strings.Cut(c.cure, "="); !strings.Contains(variable, "\n") && variable != "" {
		environ = append(environ, c.cure)
	}
	write(c.cure)
	if code, output := raymond(strings.Fields(command[1])...); code != 0 {
		t.Errorf("raymond %s: got exit code %d, want the run completed:\n%s", command[1], code, output)
	}
}
