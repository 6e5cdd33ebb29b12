package job

import "slices"

// Inputs returns every input of the Action, in the order of its documentation.
func Inputs() []InputSpec { return slices.Clone(inputs) }

// Outputs returns every output of the Action.
func Outputs() []OutputSpec { return slices.Clone(outputs) }

// inputs is where action.yml and docs/inputs.md are made from. Inputs that set a
// flag have no default here: a resume must use what the run was started with.
var inputs = slices.Concat(workflowInputs, limitInputs, agentInputs, keepingInputs, showingInputs, securityInputs)

var workflowInputs = []InputSpec{
	{Name: "workflow", check: isLine, Required: true, Text: "The workflow: a folder of states, a zip archive or one state file, relative to the workspace, or else to working-directory; or builtin:NAME, one of the examples that come with the action."},
	{Name: "input", Text: "Payload of the first state. On events of people (issues, comments, reviews, pull requests) it is treated as their text: what a page of the forge does not show (invisible characters, HTML comments, hidden markup) is removed, and it is fenced as data."},
	{Name: "input-from", check: each(isPayloadPath, "path into an event's payload", "name fields as issue.body does, without github.event"), Text: "In place of input: where the event's payload has the text, such as issue.title issue.body. The values that exist are joined with a blank line between them and treated as input is. Unlike an expression in input, this has no limit of 128 KiB."},
	{Name: "meta", Flag: "--meta", Lines: true, Text: "Template variables of every state, one key=value per line."},
	{Name: "mode", check: oneOf(ModeRun, ModeLint, ModeDiagram, ModeSimulate), Default: ModeRun, Text: "What to do with the workflow: run, lint, diagram or simulate (which needs replies)."},
	{Name: "replies", check: isLine, Text: "With mode simulate: the file of scripted replies."},
	{Name: "skip-lint", Flag: "--skip-lint", Bool: true, Text: "Start even if lint finds errors about tags in prompts and scripts. A wrong definition (entry, frontmatter, a policy's target) always stops the run. Default: false."},
	{Name: "working-directory", check: isLine, Text: "Where agents and scripts work, relative to the workspace. Default: the workspace."},
	{Name: "key", check: isKey, Text: "What this run is known by, here and in later workflow runs. Default: the workflow file's name and the job, with the number of the issue or pull request, else with the branch or tag, and in a matrix with a digest of its values. Name a key where jobs resume each other's run, at a second use in one job, and in a job of a reusable workflow."},
	{Name: "matrix-values", check: isMatrix, Default: "${{ toJSON(matrix) }}", Text: "The values of this leg of a matrix, which distinguish its default key from those of the other legs. Leave it as it is."},
	{Name: "job-workflow-ref", Default: "${{ job.workflow_ref }}", Text: "The workflow file that the job is in, which identifies a job of a reusable workflow. Leave it as it is."},
	{Name: "resume", check: isResume, Default: ResumeAuto, Text: "auto resumes the last run of the same key if there is one to resume, never starts a new run, require fails when there is none; a workflow id resumes that run. ID@N begins a new run from state execution N of that one: see raymond history; ID@STATE from the last execution of a state, ID@STATE#k from its k-th."},
	{Name: "job", Flag: "--job", Text: "The job of the workflow whose states this step runs; several are separated by commas. Agents that come to states of other jobs wait for a step that runs those. A step with this input needs a key, the same in all jobs of the run. Default: main, the job of the states that name none."},
	{Name: "part", check: each(isAgent, "such name", "want names of agents, as the output matrix has them"), Text: "In a job of a matrix, the agents that this job runs, as the value part of the matrix, which the output matrix of an earlier job has, names them. The step begins where they wait, with their share of the budget, and stores what it does apart from the run; a later step without this input joins all parts. Its own outputs mean nothing to later jobs."},
	{Name: "matrix-job", check: isJob, Text: "The job for whose matrix the output matrix has the agents that wait. Default: the first of next-jobs."},
	{Name: "max-jobs", check: isNumber(1, 256), Default: "64", Text: "Most jobs of that matrix, 1 to 256. Agents are packed evenly."},
	{Name: "prompts", Bool: true, Default: "true", Text: "false refuses every prompt state, whatever the state file says: the step runs scripts alone, and needs no model key."},
}

var limitInputs = []InputSpec{
	{Name: "budget", Flag: "--budget", Text: "Most that the run may cost, in US dollars. Default: 10.00; 0 is no limit."},
	{Name: "budget-per-key", check: isAmount, Text: "Most that the runs of this key may cost together in 24 hours, in US dollars. It is summed up when the step starts (actions: read). Default: no limit."},
	{Name: "budget-per-day", check: isAmount, Text: "Most that all runs of this workflow file may cost together in 24 hours, in US dollars. Default: no limit."},
	{Name: "prices", Flag: "--prices", Text: "A file with prices of models, relative to the workspace, which adds to those in docs/costs.md and replaces them: for agents that tell tokens and no dollars. A budget needs a price for their models."},
	{Name: "max-iterations", Flag: "--max-iterations", Text: "Most state executions of all agents. Default: no limit."},
	{Name: "max-parallel", Flag: "--max-parallel", Text: "Agents that execute at once. Default: 4."},
	{Name: "max-retries", Flag: "--max-retries", Text: "Retries of failed invocations per state execution. Default: 3."},
	{Name: "overload-wait", Flag: "--overload-wait", Text: "How long to wait while the model's service fails, for example because it is overloaded, before on-overload applies; such waits do not count as retries. Default: 10m; 0 counts them as retries."},
	{Name: "on-overload", Flag: "--on-overload", Text: "What happens when the service fails for longer than overload-wait: suspend suspends the run for 15 minutes, doubling to 4 hours, six times in a row at most, for a later step to resume it (a schedule, for example); fail fails the agent. Default: suspend."},
	{Name: "hold", Flag: "--hold", Text: "How long a run of which all agents wait stays for a time that comes, also for the end of a usage limit, before it is suspended. Default: 5m; 0 suspends it at once."},
	{Name: "max-agents", Flag: "--max-agents", Text: "Agents alive at once. Default: 256."},
	{Name: "max-depth", Flag: "--max-depth", Text: "Depth of the return stack. Default: 64."},
	{Name: "timeout", Flag: "--timeout", Text: "Longest time for one invocation of a state, such as 20m. Default: none."},
	{Name: "idle-timeout", Flag: "--idle-timeout", Text: "Longest time without output of a prompt state. Default: 15m."},
	{Name: "deadline", Flag: "--deadline", Text: "Suspend the run after this time, so that a later job can resume it. It counts from the start of the job, where the token may read that (actions: read), otherwise from that of the step. Default: " + hostedDeadline + " on runners hosted by GitHub, whose jobs end after 6 hours; none elsewhere."},
	{Name: "keep-going", Flag: "--keep-going", Bool: true, Text: "Let other agents run to their end when one fails. Default: false."},
	{Name: "done-when", Flag: "--done-when", Lines: true, Text: "Repeat a plain prompt file until these commands exit 0, one command per line."},
	{Name: "max-attempts", Flag: "--max-attempts", Text: "Most attempts with done-when. Default: 6."},
}

var agentInputs = []InputSpec{
	{Name: "agent", Flag: "--agent", Text: "What runs the prompts whose states name no agent: claude (Claude Code), codex (OpenAI Codex CLI), gemini (Gemini CLI) or command (a program of yours). Default: claude."},
	{Name: "agent-command", Flag: "--agent-command", Text: "The shell command that runs prompts of the agent command. Without the input agent it runs all prompts whose states name no agent."},
	{Name: "model", Flag: "--model", Text: "Model of the agents. Default: the agent CLI's."},
	{Name: "effort", Flag: "--effort", Text: "Effort of the agents. Default: the agent CLI's."},
	{Name: "permission-mode", Flag: "--permission-mode", Text: "What agents may do without asking. Default: acceptEdits."},
	{Name: "dangerously-skip-permissions", Flag: "--dangerously-skip-permissions", Bool: true, Text: "Let agents do everything without asking. Default: false."},
	{Name: "allowed-tools", Flag: "--allowed-tools", Text: "Tools that agents may use without asking, separated by commas or lines."},
	{Name: "disallowed-tools", Flag: "--disallowed-tools", Text: "Tools that agents may not use, separated by commas or lines."},
	{Name: "claude-args", Flag: "--claude-arg", Lines: true, Text: "Further arguments for the Claude Code CLI, one argument per line: a flag and its value are two lines, or one with a =."},
	{Name: "claude-path", Flag: "--claude", Text: "The Claude Code CLI to use. Default: claude on PATH, else it is installed."},
	{Name: "claude-version", check: isExact, Text: "The exact version of the Claude Code CLI to install when there is none. Default: the version that this action was tested with."},
	{Name: "codex-path", Flag: "--codex", Text: "The Codex CLI to use. Default: codex on PATH, else it is installed."},
	{Name: "codex-version", check: isExact, Text: "The exact version of the Codex CLI to install when there is none. Default: the version that this action was tested with."},
	{Name: "gemini-path", Flag: "--gemini", Text: "The Gemini CLI to use. Default: gemini on PATH, else it is installed."},
	{Name: "gemini-version", check: isExact, Text: "The exact version of the Gemini CLI to install when there is none. Default: the version that this action was tested with."},
	{Name: "anthropic-api-key", check: isToken, Secret: true, Text: "Key of the Anthropic API, from a secret. Agents use it without being able to read it. The variable ANTHROPIC_BASE_URL of the step names another address for the API, such as a gateway."},
	{Name: "claude-code-oauth-token", check: isToken, Secret: true, Text: "Token of a Claude subscription, from a secret, instead of an API key. Agents use it without being able to read it."},
	{Name: "openai-api-key", check: isToken, Secret: true, Text: "Key of the OpenAI API, from a secret, for the agent codex. Agents use it without being able to read it. The variable OPENAI_BASE_URL of the step names another address for the API, with its /v1."},
	{Name: "gemini-api-key", check: isToken, Secret: true, Text: "Key of the Gemini API, from a secret, for the agent gemini. Agents use it without being able to read it. The variable GOOGLE_GEMINI_BASE_URL of the step names another address for the API."},
	{Name: "github-token", check: isToken, Secret: true, Default: "${{ github.token }}", Text: "Token that asks who may start the run, finds earlier runs (actions: read) and writes the comment. Agents don't see it unless env names GITHUB_TOKEN."},
}

var keepingInputs = []InputSpec{
	{Name: "store", check: oneOf(StoreArtifact, StoreLocal), Default: StoreArtifact, Text: "Where the run is stored: artifact, which later jobs can resume, or local, which needs state-dir."},
	{Name: "state-dir", check: isLine, Text: "With store local: the folder of the state files."},
	{Name: "state-key", Secret: true, Text: "Encrypts and signs what is stored: what raymond keygen prints, from a secret; several lines rotate it, the first one is used for writing. Without it, transcripts and workspace of a public repository are not stored."},
	{Name: "checkpoint-interval", check: isPause, Default: "60s", Text: "Least time between two saves during the run, 1s at least."},
	{Name: "retention-days", check: isNumber(1, 400), Default: "14", Text: "How many days artifacts are stored, 1 to 400; the repository's own limit applies too."},
	{Name: "workspace", check: oneOf(WorkspaceGit, WorkspaceNone), Default: WorkspaceGit, Text: "git stores commits, changes and new files of the agents' work trees with the run, and keeps the files as they are after each prompt state; none stores nothing of them."},
	{Name: "resume-without-transcript", Bool: true, Default: "false", Text: "Resume a run even if its transcripts or workspace were not stored: agents begin new conversations."},
	{Name: "changed-workflow", check: oneOf(ChangedTake, ChangedNew, ChangedRefuse), Default: ChangedTake, Text: "What happens with a run whose workflow has changed since it began: take continues with the states as they are now, new starts a new run, refuse fails the step with class conflict."},
	{Name: "follows", Text: "The output state-digest of an earlier step or job of this key. A checkpoint that is older than the one it names, or another one in its place, is not resumed: the step fails with class conflict. Empty checks nothing."},
	{Name: "continue", check: oneOf(ContinueNone, ContinueRedispatch), Default: ContinueNone, Text: "redispatch: a step whose deadline suspends the run starts its workflow again, on the run's branch or, for pull requests, on the default branch, by workflow_dispatch with the run's key as the input raymond-key. That needs actions: write, and a workflow file with the trigger workflow_dispatch and that input. none does nothing."},
	{Name: "max-continuations", check: isNumber(1, 1000), Default: "10", Text: "How often in a row continue: redispatch does that, 1 to 1000. It never does after a part of the run in which no agent has moved on."},
	{Name: "raymond-key", check: isKey, Default: "${{ github.event.inputs.raymond-key }}", Text: "On workflow_dispatch, the key of the run that this step continues, which begins no new one. Leave it as it is."},
	{Name: "resume-from", check: areFiles, Text: "Other workflow files whose runs may be resumed, by name, separated by blanks, commas or lines."},
}

var showingInputs = []InputSpec{
	{Name: "summary", Bool: true, Default: "true", Text: "Write the step summary."},
	{Name: "report", Bool: true, Text: "Store a page about the run as an artifact: one HTML file with its timeline, its agents' conversations, costs and changed files, which is not encrypted. Default: for runs with prompt states in a repository that is known to be private, except with store local. With true, anybody can read it in a public repository."},
	{Name: "annotations", Bool: true, Default: "true", Text: "Annotate failures, warnings and the result."},
	{Name: "comment", check: oneOf(CommentNone, CommentSticky), Default: CommentNone, Text: "sticky writes one comment with the run at a glance on the issue or pull request of the event, and edits it in place (issues: write, or pull-requests: write on pull requests); none makes no comment."},
	{Name: "answer-prefix", check: isPrefix, Default: "/raymond", Text: "The word with which comments, reviews and comments on lines begin that answer a question of the run."},
	{Name: "suspended-is-failure", Bool: true, Default: "false", Text: "Fail the step when the run is suspended."},
}

var securityInputs = []InputSpec{
	{Name: "env", check: areVariables, Text: "Names of environment variables that agents and scripts may see besides the usual ones, separated by blanks, commas or lines."},
	{Name: "script-env", check: areVariables, Text: "The same for trusted scripts only (# raymond: trusted=true). With prompts in the same job it needs a cage that holds files and processes, unless cage is off."},
	{Name: "allow-actors", check: each(isActor, "such name", "want logins of people; bots go into allow-bots"), Text: "Logins of people without write permission who may start the run, separated by blanks, commas or lines."},
	{Name: "allow-bots", check: each(isBotName, "such name", "want logins of bots, or * for all of them"), Text: "Logins of bots that may start the run, separated by blanks, commas or lines; * for all bots."},
	{Name: "allow-events", check: each(isEvent, "such name", "want names of events such as pull_request_target"), Text: "Names of events that are otherwise refused, separated by blanks, commas or lines: pull_request_target and workflow_run from a fork, and events that this action does not know. Whether somebody may start the run is still checked."},
	{Name: "on-denied", check: oneOf(OnDeniedFail, OnDeniedSkip), Default: OnDeniedFail, Text: "What happens when somebody may not start the run: fail fails the step, skip ends it without failing and without having done anything."},
	{Name: "trust-checkout", Bool: true, Text: "Whether agents obey the settings, hooks and CLAUDE.md of the checkout. Default: not on events from forks, of people without write permission, or on comments on a pull request that can't be looked up."},
	{Name: "trust-self", Bool: true, Default: "false", Text: "Allow prompts in a job that uses the action from a folder of the workspace (uses: ./), where agents can change what its post part runs."},
	{Name: "cage", Flag: "--cage", Text: "Confine agents, done_when commands and scripts that are not trusted (Linux): on confines them as far as the runner's kernel can, require fails the step where files, processes or the network that was asked for can't be confined, off confines nothing. Default: on."},
	{Name: "network", Flag: "--network", Text: "What the cage lets them reach: open (every address), none, or hosts such as example.com, *.example.com and example.com:8443, separated by blanks, commas or lines; registry-npm, registry-go, registry-pypi and github stand for the hosts of those. The APIs of the agents that the workflow names are always reached. Default: open."},
	{Name: "cage-write", Flag: "--cage-write", Lines: true, Text: "Folders that the cage lets them write besides the working directory, one per line, relative to the workspace; ~ is the home folder. A package cache that is named, such as ~/.npm, is used by later steps as agents leave it."},
	{Name: "cage-read", Flag: "--cage-read", Lines: true, Text: "Files and folders that the cage lets them read besides the working directory, the system and tools, one per line, as those of cage-write, such as ~/.m2/settings.xml."},
	{Name: "api-tools", check: each(isVariable, "such name", "want names such as web_search"), Text: "What the APIs of the models may run for agents by themselves, past every cage, by the names in these APIs, such as web_search, code_execution, googleSearch or mcp_servers; separated by blanks, commas or lines. They pass where network is open. Default: nothing."},
	{Name: "allow-sudo", Bool: true, Default: "false", Text: "Let agents gain privileges, for example by sudo. They are not confined then: there is no cage."},
	{Name: "sandboxed", Bool: true, Default: "false", Text: "Says that the job runs in a container made for it, so that agents may skip permissions as root."},
}

var outputs = []OutputSpec{
	{"workflow-id", "Id of the run; resume takes it."},
	{"status", "Status of the run: completed, failed, over_budget, over_iterations, suspended or cancelled."},
	{"outcome", "The status; for a completed run, clean or clean_with_flake."},
	{"result", "The run's result, as its last agent gave it. Text of an agent: treat it as data."},
	{"error-class", "Class of what kept the step from completing the run: usage, denied, run_failed, over_limit, suspended and so on; empty when it is completed."},
	{"cost-usd", "Total cost of the run, in US dollars."},
	{"tokens-in", "Tokens of the run's input to models that did not come from a cache, as far as they are known."},
	{"tokens-out", "Tokens of the models' answers."},
	{"tokens-cached", "Tokens of the input that came from a cache."},
	{"iterations", "State executions of all agents."},
	{"agents", "JSON array of the agents: name, state, status, result or error."},
	{"resumable", "true when a later job can resume the run."},
	{"next-jobs", "JSON array of the jobs that agents of the suspended run wait for, by name; [] when there are none."},
	{"waiting", "JSON array of the agents that wait: agent, for (time, answer, agents or job), until, job, question, number, where; [] when nobody waits."},
	{"matrix", "JSON object for strategy.matrix of a job that runs the waiting agents; {\"include\":[]} when there are none."},
	{"state-artifact", "Name of the artifact that holds the run; empty when there is none."},
	{"state-digest", "Names the last checkpoint of the run that this step stored or resumed, for the input follows of a later job; empty when there is none."},
	{"events-file", "Path of the event log, JSON lines, in this job."},
}
