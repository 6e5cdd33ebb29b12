package simulate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/agents"
	"github.com/raymond-action/raymond-action/state"
)

// recorded is what result.json of a debug folder tells about one attempt of a
// state execution.
type recorded struct {
	Agent      string             `json:"agent"`
	State      string             `json:"state"`
	Kind       string             `json:"kind"`
	Attempt    int                `json:"attempt"`
	OK         bool               `json:"ok"`
	Error      string             `json:"error"`
	CostUSD    state.USD          `json:"cost_usd"`
	CLI        string             `json:"agent_cli"`
	Verdict    *state.NodeAttempt `json:"verdict"`
	Transition *state.Transition  `json:"transition"`

	folder    string
	execution int     // its number in the run
	list      []Reply // of its invocations; none of a script
}

// Record turns the debug folder of a finished run into replies that bring the
// same run about, with its path, and how it ended, as what is expected. What a
// resume repeated is in them once. What people answered is in them too, and a question
// that timed out is not: it must have been the last of its agent. The folder does not tell the run's input,
// metadata and limits: they must be given again.
func Record(fsys fs.FS) (*Replies, error) {
	steps, err := recordedSteps(fsys)
	if err != nil {
		return nil, err
	}
	for i := range steps {
		if s := &steps[i]; s.Kind == string(protocol.Prompt) {
			if s.list, err = s.replies(fsys); err != nil {
				return nil, fmt.Errorf("%s: %w", s.folder, err)
			}
		}
	}
	out := composed(steps)
	if out.Answers, err = recordedAnswers(fsys); err != nil {
		return nil, err
	}
	main, ok := lastSteps(steps)["main"]
	if !ok || !main.ends() {
		return out, nil
	}
	text, err := main.message(fsys)
	if tags, _ := protocol.Scan(text); len(tags) == 1 {
		out.Expect.Result = (*Text)(&tags[0].Body)
	}
	return out, err
}

// composed makes replies of the steps of a run, and what is expected of it, but for the result.
func composed(steps []recorded) *Replies {
	out := &Replies{States: map[string][]Reply{}, Expect: &Expect{Path: Path{}}}
	shared := usedByMany(steps)
	for i, s := range steps {
		if i == 0 || s.execution != steps[i-1].execution {
			out.Expect.Path[s.Agent] = append(out.Expect.Path[s.Agent], s.State)
		}
		if s.Kind != string(protocol.Prompt) {
			continue
		}
		key := s.State
		if shared[key] {
			key = s.Agent + "/" + key
		}
		out.States[key] = append(out.States[key], s.list...)
	}
	out.Expect.Status = statusOf(steps)
	return out
}

// lastSteps has the last step of each agent.
func lastSteps(steps []recorded) map[string]recorded {
	last := map[string]recorded{}
	for _, s := range steps {
		last[s.Agent] = s
	}
	return last
}

// statusOf is how the run ended, as far as its steps tell: completed, or as an agent failed.
func statusOf(steps []recorded) string {
	last, status, ended := lastSteps(steps), "", 0
	for _, s := range last {
		switch {
		case s.failed():
			status = s.status()
		case s.ends():
			ended++
		}
	}
	if ended == len(last) {
		return string(state.Completed)
	}
	return status
}

// recordedAnswers reads the answers to questions, in the order of the questions. They name
// their agents when several have asked.
func recordedAnswers(fsys fs.FS) ([]Answer, error) {
	data, err := fs.ReadFile(fsys, runner.AnswersFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	byNumber, agents := map[int]runner.DebugAnswer{}, map[string]bool{}
	for line := range bytes.Lines(data) {
		var a runner.DebugAnswer
		if err := json.Unmarshal(line, &a); err != nil {
			return nil, fmt.Errorf("%s: %w", runner.AnswersFile, err)
		}
		byNumber[a.Number], agents[a.Agent] = a, true
	}
	var out []Answer
	for _, n := range slices.Sorted(maps.Keys(byNumber)) {
		a := Answer{Agent: byNumber[n].Agent, Text: Text(byNumber[n].Text)}
		if len(agents) == 1 {
			a.Agent = ""
		}
		out = append(out, a)
	}
	return out, nil
}

// recordedSteps reads result.json of every folder, in the order in which the
// attempts ran.
func recordedSteps(fsys fs.FS) ([]recorded, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, err
	}
	var steps []recorded
	for _, e := range entries {
		s := recorded{folder: e.Name()}
		number, _, _ := strings.Cut(e.Name(), "_")
		if s.execution, _ = strconv.Atoi(number); s.execution == 0 || !e.IsDir() {
			continue
		}
		data, err := fs.ReadFile(fsys, e.Name()+"/result.json")
		if errors.Is(err, fs.ErrNotExist) {
			continue // cut off before it had a result
		}
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, &s); err != nil {
			return nil, fmt.Errorf("%s/result.json: %w", e.Name(), err)
		}
		steps = append(steps, s)
	}
	if len(steps) == 0 {
		return nil, errors.New("there is no result.json in any folder of it: this is no debug folder")
	}
	slices.SortFunc(steps, func(a, b recorded) int {
		return cmp.Or(cmp.Compare(a.execution, b.execution), cmp.Compare(a.Attempt, b.Attempt))
	})
	return withoutRepeated(steps), nil
}

// withoutRepeated leaves out the executions that failed and that a resume ran
// again.
func withoutRepeated(steps []recorded) []recorded {
	last := map[string]recorded{} // of each agent
	repeated := map[int]bool{}
	for _, s := range steps {
		before, ok := last[s.Agent]
		if ok && before.execution != s.execution && before.failed() && before.State == s.State {
			repeated[before.execution] = true
		}
		last[s.Agent] = s
	}
	return slices.DeleteFunc(steps, func(s recorded) bool { return repeated[s.execution] })
}

// failed reports whether the agent could not continue, when this was the last
// attempt of its execution.
func (s *recorded) failed() bool { return !s.OK && s.Transition == nil }

// ends reports whether the agent ended with a result.
func (s *recorded) ends() bool {
	return s.Transition != nil && s.Transition.Tag == string(protocol.Result) && s.Transition.Target == ""
}

// usedByMany names the states that several agents went through.
func usedByMany(steps []recorded) map[string]bool {
	agent, many := map[string]string{}, map[string]bool{}
	for _, s := range steps {
		if first, ok := agent[s.State]; ok && first != s.Agent {
			many[s.State] = true
		}
		agent[s.State] = s.Agent
	}
	return many
}

// replies has one reply for each invocation that a folder records.
func (s *recorded) replies(fsys fs.FS) ([]Reply, error) {
	var out []Reply
	for n := 1; ; n++ {
		name := s.folder + "/stdout.jsonl"
		if n > 1 {
			name = fmt.Sprintf("%s/stdout.%d.jsonl", s.folder, n)
		}
		f, err := fsys.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		reply, err := recordedReply(s.CLI, f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, reply)
	}
	if len(out) == 0 { // the agent CLI could not even be started
		return []Reply{{Error: &Error{Class: string(runner.Fatal), Message: Text(cmp.Or(s.Error, "not started"))}}}, nil
	}
	if last := &out[len(out)-1]; s.Verdict != nil && last.Error == nil {
		for _, r := range s.Verdict.Results {
			last.Checks = append(last.Checks, min(max(r.RC, 0), maxCode))
		}
	}
	return out, nil
}

// recordedReply reads the output of an agent CLI.
func recordedReply(cli string, r io.Reader) (Reply, error) {
	answer, failure, err := agents.Recorded(cli, r)
	if err != nil {
		return Reply{}, err
	}
	reply := Reply{Text: Text(answer.Text), Cost: Cost(answer.Cost.USD)}
	for _, d := range answer.Denied {
		reply.Denied = append(reply.Denied, Text(d))
	}
	if failure != nil {
		reply.Text, reply.Error = "", &Error{Class: string(failure.Class), Message: Text(failure.Message)}
		if !slices.Contains(Classes(), reply.Error.Class) {
			reply.Error.Class = string(runner.Fatal)
		}
	}
	return reply, nil
}

// status is how a run ends in which this was the last thing that an agent did.
func (s *recorded) status() string {
	if n := len(s.list); n > 0 && s.list[n-1].Error != nil {
		switch s.list[n-1].Error.Class {
		case string(runner.UsageLimit):
			return string(state.Suspended)
		case string(runner.OverBudget):
			return string(state.OverBudget)
		}
	}
	return string(state.Failed)
}

// message is the final message of a folder.
func (s *recorded) message(fsys fs.FS) (string, error) {
	if s.Kind == string(protocol.Prompt) {
		return string(s.list[len(s.list)-1].Text), nil
	}
	data, err := fs.ReadFile(fsys, s.folder+"/stdout.txt")
	return string(data), err
}
