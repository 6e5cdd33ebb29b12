package job

import (
	"slices"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/clis"
)

// Inputs returns all inputs of the Action, in the order of docs/inputs.md.
func Inputs() []InputSpec { return slices.Clone(inputs) }

// Outputs returns all outputs of the Action.
func Outputs() []OutputSpec { return slices.Clone(outputs) }

// inputs is the source of action.yml and docs/inputs.md. Inputs that set a flag have no default here. If
// such an input is not set, a resume keeps the value with which the run was started.
var inputs = slices.Concat(workflowInputs, limitInputs, agentInputs, keepingInputs, showingInputs, securityInputs)

var workflowInputs = []InputSpec{
	{Name: "workflow", check: isLine, Required: true, Text: "The workflow: a directory of states, a zip archive or one state file, relative to the workspace, or else to working-directory; or builtin:NAME, one of the examples that come with the action."},
	{Name: "input", Text: "Payload of the first state. On events that people cause (issues, comments, reviews, pull requests), it is treated as their text: everything that a page of the forge does not show (invisible characters, HTML comments, hidden markup) is removed, and the rest is fenced as data."},
	{Name: "input-from", check: checkEach(isPayloadPath, "a path into an event's payload", "name fields as in issue.body, without github.event"), Text: "Instead of input: fields of the event's payload, for example issue.title issue.body. The values that exist are joined with blank lines and treated like the input. Unlike an expression in input, they may exceed 128 KiB."},
	{Name: "meta", Flag: "--meta", Lines: true, Text: "Template variables of every state, one key=value per line."},
	{Name: "mode", check: oneOf(ModeRun, ModeLint, ModeDiagram, ModeSimulate), Default: ModeRun, Text: "What to do with the workflow: run, lint, diagram or simulate (which needs replies)."},
	{Name: "replies", check: isLine, Text: "With mode simulate: the file of scripted replies."},
	{Name: "working-directory", check: isLine, Text: "The directory in which agents and scripts work, relative to the workspace. Default: the workspace."},
	{Name: "key", check: isKey, Text: "Name under which the run is stored and found again, here and in later workflow runs. Default: the names of the workflow file and the job, with the number of the issue or pull request, or else with the branch or tag, and in a matrix with a digest of its values. Set a key if jobs resume each other's run, if a job uses the action twice, and in a job of a reusable workflow."},
	{Name: "matrix-values", check: isMatrix, Default: "${{ toJSON(matrix) }}", Text: "The values of this job in a matrix, which distinguish its default key from the keys of the other jobs. Do not change it."},
	{Name: "job-workflow-ref", Default: "${{ job.workflow_ref }}", Text: "The workflow file of the job, which identifies a job of a reusable workflow. Do not change it."},
	{Name: "resume", check: isResume, Default: ResumeAuto, Text: "auto resumes the last run of this key if it can be resumed, never starts a new run, require fails if there is no run to resume; a workflow id resumes that run. ID@N starts a new run from state execution N of that run (see raymond history), ID@STATE from the last execution of a state, ID@STATE#k from its k-th."},
	{Name: "job", Flag: "--job", Text: "The job whose states this step runs; separate several jobs by commas. Agents that reach a state of another job wait for a step that runs that job. A step with this input needs a key, which must be the same in all jobs of the run. Default: main, the job of states that name none."},
	{Name: "part", check: checkEach(isAgent, "the name of an agent", "use names from the output matrix"), Text: "In a job of a matrix, the agents that this job runs: the value part of a matrix that the output matrix of an earlier job has set. The step starts where these agents wait, with their share of the budget, and stores its work separately from the run; a later step without this input joins all parts. Later jobs can't use its outputs."},
	{Name: "matrix-job", check: isJob, Text: "Which job the matrix output is for. Default: the first of next-jobs."},
	{Name: "max-jobs", check: isNumber(1, 256), Default: "64", Text: "Maximum number of jobs in the output matrix, 1 to 256. Agents are distributed evenly."},
	{Name: "prompts", Bool: true, Default: "true", Text: "false refuses every prompt state, whatever the stored run contains: the step runs only scripts and needs no model key."},
}

var limitInputs = []InputSpec{
	{Name: "budget", Flag: "--budget", Text: "Maximum cost of the run, in US dollars. Default: 10.00; 0 is no limit."},
	{Name: "budget-per-key", check: isAmount, Text: "Maximum total cost of the runs of this key in 24 hours, in US dollars. The sum is calculated when the step starts (actions: read). Default: no limit."},
	{Name: "budget-per-day", check: isAmount, Text: "Maximum total cost of all runs of this workflow file in 24 hours, in US dollars. Default: no limit."},
	{Name: "prices", Flag: "--prices", Text: "A file with prices of models, relative to the workspace, which extends and overrides the list in docs/costs.md: for agents that report tokens rather than cost. A budget needs a price for their models."},
	{Name: "max-iterations", Flag: "--max-iterations", Text: "Maximum number of state executions of all agents. Default: no limit."},
	{Name: "deadline", Flag: "--deadline", Text: "Suspend the run after this time, so that a later job can resume it. The time starts with the job if the token may read the job's start time (actions: read), and otherwise with the step. Default: " + hostedDeadline + " on GitHub-hosted runners, whose jobs end after 6 hours; none elsewhere."},
	{Name: "done-when", Flag: "--done-when", Lines: true, Text: "Repeat a plain prompt file until these commands exit 0, one command per line."},
	{Name: "args", check: areArgs, Text: "Flags of raymond run that are not inputs: " + strings.Join(argsFlags, ", ") + ". Write them as on a command line, for example --timeout=20m --keep-going. Words are separated by blanks or line breaks; quotes ('…' or \"…\") group words. Nothing is expanded, and lint refuses expressions. In a job, the default of --hold is 5m, and the default of --on-overload is suspend."},
}

var agentInputs = slices.Concat([]InputSpec{
	{Name: "agent", Flag: "--agent", Text: "What runs prompts whose states name no agent: " + agentNames() + ". Default: " + protocol.DefaultBackend + "."},
	{Name: "agent-command", Flag: "--agent-command", Text: "The shell command that runs prompts of the agent command. Without the input agent, it runs all prompts whose states name no agent."},
	{Name: "model", Flag: "--model", Text: "Model of the agents. Default: the agent CLI's."},
	{Name: "permission-mode", Flag: "--permission-mode", Text: "What agents may do without asking. Default: acceptEdits."},
	{Name: "dangerously-skip-permissions", Flag: "--dangerously-skip-permissions", Bool: true, Text: "Let agents do everything without asking. Default: false."},
	{Name: "allowed-tools", Flag: "--allowed-tools", Text: "Tools that agents may use without asking, separated by commas or lines."},
	{Name: "disallowed-tools", Flag: "--disallowed-tools", Text: "Tools that agents may not use, separated by commas or lines."},
	{Name: "claude-args", Flag: "--claude-arg", Lines: true, Text: "Further arguments for the Claude Code CLI, one argument per line: a flag and its value are two lines, or one line with =."},
	{Name: "clis", check: areCLIs, Text: "The agent CLIs, one per line: an exact version to install if there is none on PATH, for example claude=2.1.330, or a path, for example codex=/opt/codex. Default: the CLI on PATH, or else the version that this action was tested with, which is installed."},
}, keyInputs(), []InputSpec{
	{Name: "github-token", check: isToken, Secret: true, Default: "${{ github.token }}", Text: "Token that checks who may start the run, finds earlier runs (actions: read) and writes the comment. Agents can't see it unless env names GITHUB_TOKEN."},
})

// agentNames lists the names of all agent CLIs with their titles.
func agentNames() string {
	var names []string
	for _, cli := range clis.All {
		names = append(names, cli.Abilities.Backend+" ("+cli.Abilities.Title+")")
	}
	return strings.Join(names, ", ")
}

var keepingInputs = []InputSpec{
	{Name: "store", check: oneOf(StoreArtifact, StoreLocal), Default: StoreArtifact, Text: "Where the run is stored: artifact, so that later jobs can resume it, or local, which needs state-dir."},
	{Name: "state-dir", check: isLine, Text: "With store local: the directory of the state files."},
	{Name: "state-key", Secret: true, Text: "Encrypts and signs the stored run. Create it with raymond keygen and keep it in a secret; to rotate keys, put the new key on a line above the old ones. Without it, transcripts and workspace of a public repository are not stored."},
	{Name: "retention-days", check: isNumber(1, 400), Default: "14", Text: "How many days artifacts are stored, 1 to 400; the limit of the repository applies too."},
	{Name: "workspace", check: oneOf(WorkspaceGit, WorkspaceNone), Default: WorkspaceGit, Text: "git stores commits, changes and new files of the agents' work trees with the run, and takes a snapshot of the files after each prompt state; none stores no files."},
	{Name: "resume-without-transcript", Bool: true, Default: "false", Text: "Resume a run even if its transcripts or workspace were not stored: agents then start new conversations."},
	{Name: "changed-workflow", check: oneOf(ChangedTake, ChangedNew, ChangedRefuse), Default: ChangedTake, Text: "What to do with a run whose workflow has changed since it started: take continues with the current states, new starts a new run, refuse fails the step with class conflict."},
	{Name: "follows", Text: "The output state-digest of an earlier step or job with this key. If the checkpoint to resume is older, or was replaced by another one, the step fails with class conflict. Empty: no check."},
	{Name: "continue", check: oneOf(ContinueNone, ContinueRedispatch), Default: ContinueNone, Text: "redispatch: if the deadline suspends the run, the step starts its workflow again with workflow_dispatch, on the run's branch or, for pull requests, on the default branch, with the key of the run as the input raymond-key. That needs actions: write, and a workflow file with the trigger workflow_dispatch and that input. It does so at most " + strconv.Itoa(maxContinuations) + " times in a row, and never after a segment of the run in which no agent made progress. none does nothing."},
	{Name: "raymond-key", check: isKey, Default: "${{ github.event.inputs.raymond-key }}", Text: "On workflow_dispatch, the key of the run that this step continues; it never starts a new run. Do not change it."},
	{Name: "resume-from", check: areFiles, Text: "Other workflow files whose runs may be resumed, by name, separated by blanks, commas or lines."},
}

var showingInputs = []InputSpec{
	{Name: "report", Bool: true, Text: "Store a report about the run as an artifact: one HTML file, not encrypted, with a timeline, the agents' conversations, costs and changed files. Default: true for runs with prompt states in a repository that is known to be private, unless store is local. In a public repository, anyone can read the report."},
	{Name: "comment", check: oneOf(CommentNone, CommentSticky), Default: CommentNone, Text: "sticky keeps one comment with an overview of the run up to date on the issue or pull request of the event (issues: write, or pull-requests: write on pull requests); none writes no comment."},
	{Name: "answer-prefix", check: isPrefix, Default: "/raymond", Text: "Prefix that marks a comment as an answer. It also marks reviews and line comments."},
}

var securityInputs = []InputSpec{
	{Name: "env", check: areVariables, Text: "Names of further environment variables that agents and scripts may see, separated by blanks, commas or lines."},
	{Name: "script-env", check: areVariables, Text: "Names of environment variables that only trusted scripts get (`# raymond: trusted=true`). If the job has prompts, its cage must be able to confine files and processes, or `cage` must be `off`."},
	{Name: "allow-actors", check: checkEach(isActor, "the login of a person", "list bots in allow-bots"), Text: "Logins of people without write permission who may start the run, separated by blanks, commas or lines."},
	{Name: "allow-bots", check: checkEach(isBotName, "the login of a bot", "use logins of bots, or * for all of them"), Text: "Logins of bots that may start the run, separated by blanks, commas or lines; * for all bots."},
	{Name: "allow-events", check: checkEach(isEvent, "the name of an event", "use names of events such as pull_request_target"), Text: "Names of events that are otherwise refused, separated by blanks, commas or lines: pull_request_target and workflow_run from a fork, and events unknown to this action. The permission of the sender is still checked."},
	{Name: "on-denied", check: oneOf(OnDeniedFail, OnDeniedSkip), Default: OnDeniedFail, Text: "What to do if the sender may not start the run: fail fails the step; skip ends it successfully and does nothing."},
	{Name: "trust-checkout", Bool: true, Text: "Whether agents obey the settings, hooks and CLAUDE.md of the checkout. Default: not on events from forks or of people without write permission, and not on comments on a pull request that can't be looked up."},
	{Name: "trust-self", Bool: true, Default: "false", Text: "Allow prompts in a job that uses the action from a directory of the workspace (uses: ./), where agents can change the program that its post phase runs."},
	{Name: "cage", Flag: "--cage", Text: "Confine agents, done_when commands and untrusted scripts (Linux): on confines whatever the runner's kernel can confine, require fails the step if files, processes or the requested network can't be confined, off confines nothing. Default: on."},
	{Name: "network", Flag: "--network", Text: "What caged programs can reach: open (all addresses), none, or hosts such as example.com, *.example.com and example.com:8443, separated by blanks, commas or lines; registry-npm, registry-go, registry-pypi and github are short names for the hosts of those services. The APIs of the agents in the workflow can always be reached. Default: open."},
	{Name: "cage-write", Flag: "--cage-write", Lines: true, Text: "Further directories that caged programs may write, in addition to the working directory, one per line, relative to the workspace; ~ is the home directory. If you name a package cache such as ~/.npm, later steps use what agents leave in it."},
	{Name: "cage-read", Flag: "--cage-read", Lines: true, Text: "Further files and directories that caged programs may read, in addition to the working directory, the system and tools, for example ~/.m2/settings.xml; one per line, in the syntax of cage-write."},
	{Name: "api-tools", check: checkEach(isVariable, "the name of a tool", "use names such as web_search"), Text: "Tools that the APIs of the models may run for agents on their own servers, outside of any cage: their names in these APIs, such as web_search, code_execution, googleSearch or mcp_servers, separated by blanks, commas or lines. This takes effect only if network is open. Default: none."},
	{Name: "allow-sudo", Bool: true, Default: "false", Text: "Let agents gain privileges, for example with sudo. Then there is no cage, and agents are not confined."},
	{Name: "sandboxed", Bool: true, Default: "false", Text: "Declares that the job runs in a container made for it, so that agents may skip permissions as root."},
}

var outputs = []OutputSpec{
	{"workflow-id", "Id of the run, for the input resume."},
	{"status", "Status of the run: completed, failed, over_budget, over_iterations, suspended or cancelled."},
	{"outcome", "The status; for a completed run, clean or clean_with_flake."},
	{"result", "The result of the run, which is the result of the agent main. It is text from an agent: treat it as data."},
	{"error-class", "Why the step did not complete the run: usage, denied, run_failed, over_limit, suspended and so on; empty for a completed run."},
	{"cost-usd", "Total cost of the run, in US dollars."},
	{"tokens-in", "Known input tokens of the run, excluding tokens from a cache."},
	{"tokens-out", "Output tokens of the run."},
	{"tokens-cached", "Input tokens from a cache."},
	{"iterations", "Number of state executions of all agents."},
	{"agents", "JSON array of the agents: name, state, status, result or error."},
	{"resumable", "true if a later job can resume the run."},
	{"next-jobs", "JSON array of the jobs for which agents of the suspended run wait, by name; [] if there are none."},
	{"waiting", "JSON array of the waiting agents: agent, for (time, answer, agents or job), until, job, question, number, where; [] if no agent waits."},
	{"matrix", "JSON object for strategy.matrix of a job that runs the waiting agents; {\"include\":[]} if there are none."},
	{"state-artifact", "Name of the artifact that contains the run; empty if there is none."},
	{"state-digest", "Identifies the last checkpoint of the run that this step stored or resumed, for the input follows of a later job; empty if there is none."},
	{"events-file", "Path of the event log in this job, in JSON Lines format."},
}
