package action

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/state"
)

// noAgentWaits has the outputs that later jobs decode, for a step after which no agent waits. They
// are never empty, because fromJSON of an empty text is an error of the workflow.
var noAgentWaits = map[string]string{"next-jobs": "[]", "waiting": "[]", "matrix": noMatrix}

// setOutputs sets outputs of the step, with secrets masked.
func setOutputs(env Env, files *job.Files, log *jobLog, values map[string]string) error {
	if env.Getenv("GITHUB_OUTPUT") == "" {
		return nil // not in a job
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := files.SetOutput(name, log.mask.Text(values[name])); err != nil {
			return problem.OfMachine("outputs", err)
		}
	}
	return nil
}

// writeOutputs writes all outputs of the step.
func writeOutputs(j *Job, s *scratch, a advisor, c Conclusion, all []*problem.Problem) error {
	values := maps.Clone(noAgentWaits)
	values["error-class"] = ""
	if len(all) > 0 {
		values["error-class"] = string(all[0].Class)
	}
	if c.isSkipped {
		values["status"] = "skipped"
	}
	if c.run != nil {
		addRunOutputs(s, c, a.nextSteps(c).Resumable, values)
	}
	return setOutputs(j.env, s.files, s.log, values)
}

// addRunOutputs sets the outputs that describe the run.
func addRunOutputs(s *scratch, c Conclusion, isResumable bool, values map[string]string) {
	run, p := c.run, &c.run.Progress
	values["workflow-id"], values["status"], values["outcome"] = run.WorkflowID, string(p.Status), string(p.Status)
	if p.Status == state.Running { // its last state could not be written
		values["status"], values["outcome"] = string(state.Failed), string(state.Failed)
	}
	for _, event := range run.Events {
		if end, ok := event.Body.(*state.RunFinished); ok {
			values["outcome"] = end.Outcome
		}
	}
	result, _ := run.Result()
	values["result"] = string(result)
	values["cost-usd"], values["iterations"] = p.TotalUSD.String(), strconv.Itoa(run.OwnExecutions())
	tokens := run.Tokens()
	values["tokens-in"], values["tokens-cached"] = strconv.FormatInt(tokens.Input, 10), strconv.FormatInt(tokens.Cached, 10)
	values["tokens-out"] = strconv.FormatInt(tokens.Output, 10)
	values["waiting"] = listText(run.WaitingAgents())
	if p.Status == state.Suspended { // only a suspended run is resumed by a later job without other inputs
		values["next-jobs"], values["matrix"] = listText(run.NextJobs()), matrixOutput(run.Parts)
	}
	values["resumable"] = strconv.FormatBool(isResumable)
	values["state-artifact"] = c.receipt.Name
	values["state-digest"] = c.receipt.Checkpoint.String()
	values["events-file"] = s.events(run.WorkflowID)
	if fitOutputs(values, agentsOutput(run), s.log.mask.Text) {
		s.log.Warn("the outputs result and agents are truncated, because all outputs together must stay under 512 KiB; the full text is in " + values["events-file"])
	}
}

// maxOutputs is the maximum size of all outputs together, in bytes. GitHub drops all outputs of a
// job if they exceed 1 MiB in UTF-16.
const maxOutputs = 512 << 10

// fitOutputs adds the output agents, and truncates results and errors until all outputs fit. Texts
// are masked before they are cut, because a cut secret would no longer be recognized. It reports
// whether it cut anything.
func fitOutputs(values map[string]string, agents []agentOutput, mask func(string) string) (isCut bool) {
	values["agents"] = listText(agents)
	for limit := maxOutputs / 4; sizeOf(values) >= maxOutputs && limit > 0; limit /= 2 {
		cut := func(text string) string {
			text = mask(text)
			return strings.ToValidUTF8(text[:min(len(text), limit)], "")
		}
		isCut, values["result"] = true, cut(values["result"])
		for i, a := range agents {
			agents[i].Result, agents[i].Error = cut(a.Result), cut(a.Error)
		}
		values["agents"] = listText(agents)
	}
	return isCut
}

func sizeOf(values map[string]string) (n int) {
	for name, value := range values {
		n += len(name) + len(value)
	}
	return n
}

// agentOutput is an agent in the output agents.
type agentOutput struct {
	Agent  string `json:"agent"`
	Status string `json:"status"`
	State  string `json:"state,omitempty"`
	Result string `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

// agentsOutput lists the agents: first ended agents with their results, then the others with their
// current states.
func agentsOutput(run *state.Run) []agentOutput {
	list := []agentOutput{}
	for _, e := range run.Ended {
		o := agentOutput{Agent: e.Agent, Status: "completed", Result: strings.ToValidUTF8(string(e.Result), "\uFFFD")}
		if e.Error != "" { // a join has delivered its error
			o.Status, o.Error = string(state.Stuck), e.Error
		}
		list = append(list, o)
	}
	for _, a := range run.Agents {
		o := agentOutput{Agent: a.ID, Status: string(a.Status), State: a.State}
		if a.Failure != nil {
			o.Error = a.Failure.Message
		}
		list = append(list, o)
	}
	return list
}

// listText returns a list as JSON.
func listText[T any](list []T) string {
	data, err := json.Marshal(list)
	if err != nil || list == nil {
		return "[]"
	}
	return string(data)
}

// noMatrix is the output matrix when no agent waits.
const noMatrix = `{"include":[]}`

// matrixEntry is one job of the output matrix.
type matrixEntry struct {
	Part string `json:"part"` // its agents, separated by commas
	Name string `json:"name"` // label for users
}

// matrixOutput returns the output matrix, with an entry for each part that the run has handed over.
func matrixOutput(parts state.Parts) string {
	var include []matrixEntry
	for _, p := range parts.Matrix() {
		include = append(include, matrixEntry{strings.Join(agentsOf(&p), ","), p.Label()})
	}
	return `{"include":` + listText(include) + `}`
}
