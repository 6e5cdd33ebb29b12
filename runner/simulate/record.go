package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/claude"
	"github.com/raymond-action/raymond-action/state"
)

// recorded is what result.json of a debug folder tells.
type recorded struct {
	Agent      string             `json:"agent"`
	State      string             `json:"state"`
	Kind       string             `json:"kind"`
	OK         bool               `json:"ok"`
	Verdict    *state.NodeAttempt `json:"verdict"`
	Transition *state.Transition  `json:"transition"`

	folder string
}

// Record turns the debug folder of a finished run into replies that bring the
// same run about, with its path, status and result as what is expected.
func Record(fsys fs.FS) (*Replies, error) {
	steps, err := recordedSteps(fsys)
	if err != nil {
		return nil, err
	}
	out := &Replies{States: map[string][]Reply{}, Expect: &Expect{Path: Path{}}}
	shared := usedByMany(steps)
	for i, s := range steps {
		if i == 0 || !s.sameExecution(steps[i-1]) {
			out.Expect.Path[s.Agent] = append(out.Expect.Path[s.Agent], s.State)
		}
		if s.Kind != string(protocol.Prompt) {
			continue
		}
		replies, err := s.replies(fsys)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.folder, err)
		}
		key := s.State
		if shared[key] {
			key = s.Agent + "/" + key
		}
		out.States[key] = append(out.States[key], replies...)
	}
	return out, out.Expect.finish(fsys, steps)
}

// recordedSteps reads result.json of every folder, in the order of the folders.
func recordedSteps(fsys fs.FS) ([]recorded, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, err
	}
	var steps []recorded
	for _, e := range entries {
		data, err := fs.ReadFile(fsys, e.Name()+"/result.json")
		if errors.Is(err, fs.ErrNotExist) || !e.IsDir() {
			continue // cut off before it had a result
		}
		if err != nil {
			return nil, err
		}
		s := recorded{folder: e.Name()}
		if err := json.Unmarshal(data, &s); err != nil {
			return nil, fmt.Errorf("%s/result.json: %w", e.Name(), err)
		}
		steps = append(steps, s)
	}
	if len(steps) == 0 {
		return nil, errors.New("there is no result.json in any folder of it: this is no debug folder")
	}
	return steps, nil
}

// sameExecution reports whether two folders are attempts of one execution.
func (s *recorded) sameExecution(before recorded) bool {
	return s.Agent == before.Agent && s.State == before.State &&
		before.Verdict != nil && s.Verdict != nil && s.Verdict.Attempt == before.Verdict.Attempt+1
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
		if errors.Is(err, fs.ErrNotExist) && n > 1 {
			break
		}
		if err != nil {
			return nil, err
		}
		reply, err := recordedReply(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, reply)
	}
	if s.Verdict != nil {
		last := &out[len(out)-1]
		for _, r := range s.Verdict.Results {
			last.Checks = append(last.Checks, r.RC)
		}
	}
	return out, nil
}

func recordedReply(r io.Reader) (Reply, error) {
	answer, failure, err := claude.Recorded(r)
	if err != nil {
		return Reply{}, err
	}
	reply := Reply{Text: answer.Text, Cost: Cost{answer.Cost.USD}, Denied: answer.Denied}
	if failure != nil {
		reply.Text, reply.Error = "", &Error{Class: string(failure.Class), Message: failure.Message}
	}
	return reply, nil
}

// finish adds how the run ended, as far as the folders tell.
func (e *Expect) finish(fsys fs.FS, steps []recorded) error {
	for _, s := range slices.Backward(steps) {
		if !s.OK {
			return nil
		}
		if s.Agent != "main" || s.Transition == nil || s.Transition.Tag != string(protocol.Result) || s.Transition.Target != "" {
			continue
		}
		text, err := s.message(fsys)
		if err != nil {
			return err
		}
		e.Status = string(state.Completed)
		if tags, _ := protocol.Scan(text); len(tags) == 1 {
			e.Result = &tags[0].Body
		}
		return nil
	}
	return nil
}

// message is the final message of a folder.
func (s *recorded) message(fsys fs.FS) (string, error) {
	if s.Kind == string(protocol.Prompt) {
		replies, err := s.replies(fsys)
		if err != nil {
			return "", err
		}
		return replies[len(replies)-1].Text, nil
	}
	data, err := fs.ReadFile(fsys, s.folder+"/stdout.txt")
	return string(data), err
}

// Write writes a replies file.
func (r *Replies) Write(w io.Writer) error {
	var b strings.Builder
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(r), enc.Close()); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}
