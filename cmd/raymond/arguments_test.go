package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
)

// badArguments are invalid command lines, by command. names is the argument that the error must name. dir
// is an empty directory, text is a file that is not a workflow, and flow is a workflow.
var badArguments = map[string][]struct{ line, names string }{
	"raymond": {
		{"''", "PATH"}, {"nothing", "PATH"}, {"run dir x", "PATH"}, {"text x", "PATH"},
		{"flow --input-file dir", "--input-file"}, {"flow --budget", "--budget"}, {"flow --prices text", "--prices"}, {"-x", "-x"},
	},
	"raymond run": {
		{"", "PATH"}, {"''", "PATH"}, {"nothing", "PATH"}, {"text", "PATH"}, {"flow x", "PATH"}, {"/dev/null", "PATH"},
		{"flow --input-file nothing", "--input-file"}, {"flow --input-file ''", "--input-file"}, {"flow --state-dir text", "--state-dir"},
		{"flow --state-dir text/below", "--state-dir"}, {"flow --state-dir ''", "--state-dir"}, {"flow --debug-dir text", "--debug-dir"},
		{"flow --events dir", "--events"}, {"flow --events ''", "--events"}, {"flow --events text/below", "--events"},
		{"flow --model ''", "--model"}, {"flow --claude ''", "--claude"}, {"flow --allowed-tools ''", "--allowed-tools"},
		{"flow --done-when ''", "--done-when"}, {"flow --workflow-id ''", "--workflow-id"}, {"flow --meta ''", "--meta"},
		{"flow --meta", "--meta"}, {"flow --prices nothing", "--prices"}, {"flow --prices dir", "--prices"}, {"flow --prices ''", "--prices"}, {"flow --quiet=maybe", "--quiet"}, {"flow --job ''", "--job"},
		{"flow --job a,", "--job"}, {"flow --job 1a", "--job"}, {"flow --job a/b", "--job"}, {"flow --hold never", "--hold"}, {"flow --history 64MB", "--history"}, {"flow --history -1", "--history"}, {"flow --history 9999999GiB", "--history"}, {"flow --history ", "--history"}, {"nothing --budget NaN", "PATH"}, {"'' --budget NaN", "--budget"},
	},
	"raymond resume": {
		{"", "WORKFLOW_ID"}, {"''", "WORKFLOW_ID"}, {"gone", "WORKFLOW_ID"}, {"a b", "WORKFLOW_ID"}, {"../a", "WORKFLOW_ID"},
		{"gone --state-dir text", "--state-dir"}, {"'' --budget -1", "--budget"},
	},
	"raymond rerun": {
		{"", "WORKFLOW_ID"}, {"a", "--from"}, {"a --from ''", "--from"}, {"gone --from 1", "WORKFLOW_ID"}, {"a b --from 1", "WORKFLOW_ID"}, {"'' --from 1", "WORKFLOW_ID"},
		{"gone --from 1 --state-dir text", "--state-dir"}, {"a --from 1 --budget NaN", "--budget"}, {"a --from 1 --workflow-id ''", "--workflow-id"}, {"a --from 1 --workspace x", "--workspace"},
	},
	"raymond list": {{"x", "arguments"}, {"--state-dir text", "--state-dir"}, {"--state-dir ''", "--state-dir"}, {"--json=1", "--json"}},
	"raymond status": {
		{"", "WORKFLOW_ID"}, {"''", "WORKFLOW_ID"}, {"gone", "WORKFLOW_ID"}, {"a b", "WORKFLOW_ID"}, {"gone --state-dir text", "--state-dir"},
	},
	"raymond history": {
		{"", "WORKFLOW_ID"}, {"''", "WORKFLOW_ID"}, {"gone", "WORKFLOW_ID"}, {"a b", "WORKFLOW_ID"}, {"gone --state-dir text", "--state-dir"},
	},
	"raymond report": {
		{"", "WORKFLOW_ID"}, {"''", "WORKFLOW_ID"}, {"gone", "WORKFLOW_ID"}, {"a b", "WORKFLOW_ID"}, {"gone --state-dir text", "--state-dir"},
		{"gone -o ''", "--output"},
	},
	"raymond lint": {
		{"", "PATH"}, {"''", "PATH"}, {"nothing", "PATH"}, {"flow text", "PATH"}, {"flow --format xml", "--format"}, {"flow --platform vms", "--platform"},
		{"flow --prices text", "--prices"}, {"flow --workflow-file nothing", "--workflow-file"}, {"flow --workflow-file ''", "--workflow-file"},
	},
	"raymond diagram": {
		{"", "PATH"}, {"''", "PATH"}, {"nothing", "PATH"}, {"text", "PATH"}, {"flow x", "PATH"}, {"--run gone", "WORKFLOW_ID"},
		{"--run ''", "--run"}, {"--run gone --state-dir text", "--state-dir"},
	},
	"raymond simulate": {
		{"", "PATH"}, {"flow", "--replies"}, {"flow --replies nothing", "--replies"}, {"flow --replies dir", "--replies"},
		{"flow --replies ''", "--replies"}, {"nothing --replies text", "PATH"}, {"'' --replies text", "PATH"}, {"text", "PATH"},
		{"--record nothing", "WORKFLOW_ID"}, {"--record ../a", "--record"}, {"--record ''", "--record"}, {"flow --record dir", "--record"},
	},
	"raymond keygen":                {{"x", "arguments"}, {"''", "arguments"}, {"-x", "-x"}},
	"raymond cage":                  {{"", "COMMAND"}, {"--", "COMMAND"}, {"-- no-such-command", "COMMAND"}, {"--network=open.example:x -- true", "--network"}, {"--cage=off -- true", "--cage"}, {"-x", "-x"}, {"--cage=maybe -- true", "--cage"}},
	"raymond action":                {{"x", "arguments"}, {"-x", "-x"}},
	"raymond action-post":           {{"x", "arguments"}, {"-x", "-x"}},
	"raymond environment":           {{"--bogus", "--bogus"}},
	"raymond exit-codes":            {{"--bogus", "--bogus"}},
	"raymond help":                  {{"nothing", "arguments"}, {"run x", "arguments"}, {"''", "arguments"}},
	"raymond completion":            {{"nothing", "arguments"}, {"''", "arguments"}},
	"raymond completion bash":       {{"x", "arguments"}, {"--bogus", "--bogus"}},
	"raymond completion zsh":        {{"x", "arguments"}},
	"raymond completion fish":       {{"x", "arguments"}},
	"raymond completion powershell": {{"x", "arguments"}},
}

// split splits a command line at spaces. Two single quotes stand for an empty argument.
func split(line string) []string {
	list := strings.Fields(line)
	for i, w := range list {
		if w == "''" {
			list[i] = ""
		}
	}
	return list
}

// TestBadArgumentsAreUsageErrors checks that each invalid argument is reported in one line of class usage
// that names the argument, and that nothing is started.
func TestBadArgumentsAreUsageErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, content := range map[string]string{"text": "no workflow", "flow/START.sh": "echo '<result>x</result>'; touch started"} {
		assert.NilError(t, os.MkdirAll("flow", 0o700))
		assert.NilError(t, os.WriteFile(name, []byte(content), 0o600))
	}
	assert.NilError(t, os.Mkdir("dir", 0o700))
	for command, lines := range badArguments {
		for _, l := range lines {
			args := append(split(command)[1:], split(l.line)...)
			var stdout, stderr bytes.Buffer
			code := (&App{Args: args, Stdout: &stdout, Stderr: &stderr}).Main()
			if code != problem.ExitCodes[problem.ClassUsage] || stdout.Len() > 0 {
				t.Errorf("%s %s: got exit code %d, stdout %q, stderr %q; want exit code 2", command, l.line, code, &stdout, &stderr)
				continue
			}
			about := false
			for line := range strings.Lines(stderr.String()) {
				where, isUsage := strings.CutPrefix(line, "raymond: usage: ")
				assert.Check(t, isUsage && len(line) <= 400, "%s %s: got the line %q, want a short one of class usage", command, l.line, line)
				about = about || strings.HasPrefix(where, l.names+": ")
			}
			assert.Check(t, about, "%s %s: got %q, want an error about %s", command, l.line, &stderr, l.names)
		}
	}
	_, err := os.Stat("started")
	assert.Check(t, err != nil, "something was started")
	_, err = os.Stat(".raymond")
	assert.Check(t, err != nil, "there is a folder .raymond, want none")
}
