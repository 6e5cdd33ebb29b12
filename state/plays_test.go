package state_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/internal/goldentest"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// TestPlays runs the test scripts in testdata/plays. A script, called a play, is a list of commands that
// change a run, one per line. The expected output shows the changes after each command. A line
// "== name {options}" begins a new run of the workflow in the archive. The workflow also gets the states
// A.md, B.md, C.md and S.sh if the archive lacks them.
func TestPlays(t *testing.T) {
	goldentest.Each(t, "testdata/plays/*.txtar", func(t *testing.T, files map[string]string) string {
		var told strings.Builder
		var s *scene
		for line := range strings.Lines(files["play"]) {
			line = strings.TrimSpace(line)
			told.WriteString(line + "\n")
			if title, ok := strings.CutPrefix(line, "== "); ok {
				s = newScene(t, files, title)
			} else if line != "" {
				told.WriteString(s.take(line))
			}
		}
		return told.String()
	})
}

// scene executes a play and prints how its run changes.
type scene struct {
	*play
	begun string                       // how the last invocation was started; see begin
	known map[string]map[string]string // the fields that were printed last, by "run", the name of an agent, or another heading
	seen  int                          // number of events that have been printed
}

// newScene begins a run of the workflow in files. title may end with options as JSON.
func newScene(t *testing.T, files map[string]string, title string) *scene {
	t.Helper()
	flow := fstest.MapFS{}
	for _, name := range []string{"A.md", "B.md", "C.md", "S.sh"} {
		flow[name] = &fstest.MapFile{Data: []byte("do it")}
	}
	for name, text := range files {
		if name != "play" {
			flow[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	w, problems := protocol.Load(flow, protocol.LoadOptions{Entry: "A.md", Platform: protocol.Unix})
	assert.Assert(t, problems == nil, "%v", problems)
	p := newPlay(t, func(o *state.Options) {
		if at := strings.Index(title, "{"); at >= 0 {
			assert.NilError(t, json.Unmarshal([]byte(title[at:]), o), title)
		}
	})
	p.flow, p.run.Files = w, w.Hashes()
	s := &scene{play: p, known: map[string]map[string]string{}}
	s.printChanges()
	return s
}

// take executes one line of a play and returns text that describes the changes.
func (s *scene) take(line string) string {
	s.t.Helper()
	s.t.Log(line)
	verb, rest, _ := strings.Cut(line, " ")
	words := append(strings.Fields(rest), "", "")
	number, _ := strconv.Atoi(words[1])
	read := func(to any) { assert.NilError(s.t, json.Unmarshal([]byte(rest), to), line) }
	switch verb {
	case "wait":
		d, err := time.ParseDuration(rest)
		assert.NilError(s.t, err, line)
		s.now = s.now.Add(d)
	case "start":
		s.begin(rest)
	case "end":
		id, how, _ := strings.Cut(rest, " ")
		s.end(id, s.outcome(id, how))
	// This command ends the agent's last invocation and closes the run in one step.
	case "last":
		id, how, _ := strings.Cut(rest, " ")
		s.begin(id)
		s.do(func(step *state.Step) {
			step.End(id, s.state(s.agent(id).State), s.outcome(id, how))
			step.Close(step.Closing(nil))
		})
	// Arguments: AGENT EXIT_CODE {verification}
	case "check":
		v := state.Verification{Results: []state.CommandResult{{Cmd: "check", RC: number, Tail: "tail of it"}}}
		if _, more, ok := strings.Cut(rest, "{"); ok {
			assert.NilError(s.t, json.Unmarshal([]byte("{"+more), &v), line)
		}
		s.begin(words[0])
		s.do(func(step *state.Step) { step.EndVerification(words[0], s.state(s.agent(words[0]).State), v) })
	case "resume":
		s.resume(func(o *state.Options) {
			if rest != "" {
				read(o)
			}
		})
	case "settle":
		here := s.here()
		if rest != "" {
			read(&here)
		}
		s.settle(here)
	case "close", "closing":
		var stop *state.Stop
		if rest != "" {
			read(&stop)
		}
		if verb == "closing" {
			return "  " + changes(nil, fields(s.t, s.run.Step(s.now).Closing(stop))) + "\n"
		}
		s.do(func(step *state.Step) { step.Close(step.Closing(stop)) })
	default:
		s.event(verb, rest)
	}
	return s.printChanges()
}

// event executes a command for something that happens outside the run. If verb is not a known command, it is
// the name of an agent, which then makes a turn.
func (s *scene) event(verb, rest string) {
	s.t.Helper()
	words := append(strings.Fields(rest), "", "")
	number, _ := strconv.Atoi(words[1])
	read := func(to any) { assert.NilError(s.t, json.Unmarshal([]byte(rest), to), rest) }
	switch verb {
	case "lost":
		var lost state.Outcome
		read(&lost)
		s.do(func(step *state.Step) { step.Resume(map[string]state.Outcome{"main": lost}) })
	case "seen":
		var used []state.Usage
		read(&used)
		s.do(func(step *state.Step) { step.RecordProgress("main", used, "") })
	case "answer":
		_, text, _ := strings.Cut(rest, words[1]+" ")
		s.do(func(step *state.Step) { step.Answer(words[0], number, state.Answer{Text: text, By: "ann"}) })
	case "comment":
		s.do(func(step *state.Step) { step.RecordComment(words[0], number, 77) })
	case "timeout":
		s.do(func(step *state.Step) { step.TimeOut(words[0], number) })
	default:
		s.begin(verb)
		s.end(verb, s.outcome(verb, rest))
	}
}

// begin starts an invocation of an agent. If the agent is in a pause, the time first advances to the end
// of the pause. begin records how the invocation starts: the mode, the session id, the session that was
// copied, the model, and the length of the transcript.
func (s *scene) begin(id string) {
	s.t.Helper()
	if at := s.agent(id).NotBefore; at.After(s.now) {
		s.now = at
	}
	i := s.start(id)
	s.begun = fmt.Sprint(i.Mode, " ", i.SessionID, " ", i.From, " ", i.Model)
	if i.Length != nil {
		s.begun += fmt.Sprint(" at ", *i.Length)
	}
}

// here returns a state.Here for a process that runs all states.
func (s *scene) here() state.Here {
	here := anywhere
	here.JobOf = s.flow.JobOf
	return here
}

// outcome parses the description of how an invocation ends. It consists of fields of the outcome as JSON,
// then "!CLASS MESSAGE |" for a failure, then the final message, which are all optional. The invocation costs
// nothing.
func (s *scene) outcome(id, how string) state.Outcome {
	s.t.Helper()
	o := state.Outcome{Cost: cost(0), Reminder: "again"}
	if strings.HasPrefix(how, "{") {
		dec := json.NewDecoder(strings.NewReader(how))
		assert.NilError(s.t, dec.Decode(&o), how)
		how = strings.TrimSpace(how[dec.InputOffset():])
	}
	if failure, ok := strings.CutPrefix(how, "!"); ok {
		failure, how, _ = strings.Cut(failure, " | ")
		class, message, _ := strings.Cut(failure, " ")
		if o.Failure == nil {
			o.Failure = &state.Failure{}
		}
		o.Failure.Class, o.Failure.Message = state.Class(class), message
	}
	a := s.agent(id)
	o.Decision, o.Problems = s.flow.Decide(a.State, how, a.ReturnState(), nil)
	return o
}

// printChanges returns text with the events of the last step, and the fields of agents and of the run that
// have changed.
func (s *scene) printChanges() string {
	s.t.Helper()
	var b strings.Builder
	if s.begun = strings.Join(strings.Fields(s.begun), " "); s.begun != "" {
		fmt.Fprintf(&b, "  (%s)\n", s.begun)
	}
	s.begun = ""
	for _, e := range s.events[s.seen:] {
		fmt.Fprintf(&b, "  %s\n", strings.Join(strings.Fields(fmt.Sprint(e.Body.Type(), " ", e.Agent, " ", e.State, " ", changes(nil, fields(s.t, e.Body)))), " "))
	}
	s.seen = len(s.events)
	now := map[string]map[string]string{"run": fields(s.t, s.run.Progress)}
	if which, spent, limit := s.run.ReachedCap(); which != "" {
		now["run"]["reached"] = fmt.Sprint(which, " ", spent, " of ", limit)
	}
	busy := 0
	for _, a := range s.run.Agents {
		now[a.ID] = fields(s.t, a)
		if a.Status == state.Busy {
			busy++
		}
	}
	for _, e := range s.run.Ledger {
		if e.Kind != state.Exact || e.Models != nil || e.CostUSD > 0 {
			now[fmt.Sprint("invocation ", e.N)] = fields(s.t, e)
			now[fmt.Sprint("invocation ", e.N)]["of"] = e.Session
		}
	}
	step := s.run.Step(s.now)
	now["next"] = map[string]string{"agent": s.next(busy)}
	if at := step.Schedule().WakeTime(); !at.IsZero() {
		now["next"]["wakes"] = at.Sub(s.now).String()
	}
	if at := step.Schedule().DueTime(); !at.IsZero() {
		now["next"]["due"] = at.Sub(s.now).String()
	}
	for _, name := range slices.Sorted(maps.Keys(s.known)) {
		if now[name] == nil {
			fmt.Fprintf(&b, "    %s is gone\n", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if text := changes(s.known[name], now[name]); text != "" {
			fmt.Fprintf(&b, "    %s: %s\n", name, text)
		}
	}
	s.known = now
	return b.String()
}

// changes returns the fields that differ between before and now, sorted by name. If all fields whose names
// begin with the same prefix are gone, it returns only that prefix.
func changes(before, now map[string]string) string {
	all := maps.Clone(now)
	for name := range before {
		if _, ok := now[name]; ok {
			continue
		}
		gone := ""
		for part := range strings.SplitSeq(name, ".") {
			gone = strings.TrimPrefix(gone+"."+part, ".")
			if !slices.ContainsFunc(slices.Collect(maps.Keys(now)), func(n string) bool { return strings.HasPrefix(n, gone+".") }) {
				break
			}
		}
		all[gone] = "-"
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] != before[name] {
			list = append(list, name+"="+all[name])
		}
	}
	return strings.Join(list, " ")
}

// boring matches fields that the output of plays leaves out: fields with the same value in every play,
// counters, fields that repeat an event, and zero values.
var boring = regexp.MustCompile(`(^|\.)(backend|scope|started|attempt_started|since|cmd|tail|reask)=|` +
	`^(seq|events|last_begun|created|launches|n|id|cwd|session_id|session|exec\.(iteration|verdict\.[^r].*|running\.(n|mode|session_id|from|length)))=|` +
	`=(""|0|false|null|\[\]|"0001-.*")$|^(exec\.phase="agent"|kind="(exact|prompt|script)")$`)

// fields returns the JSON fields of a value, except fields that boring matches. The name of a nested field
// contains the names of the fields around it, with dots between the names.
func fields(t *testing.T, v any) map[string]string {
	t.Helper()
	data, err := json.Marshal(v)
	assert.NilError(t, err)
	var tree any
	assert.NilError(t, json.Unmarshal(data, &tree))
	all := map[string]string{}
	var add func(name string, v any)
	add = func(name string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, inner := range v {
				add(strings.TrimPrefix(name+"."+key, "."), inner)
			}
			return
		case []any:
			for i, inner := range v {
				add(fmt.Sprintf("%s.%d", name, i), inner)
			}
			return
		}
		if text, _ := json.Marshal(v); !boring.MatchString(name + "=" + string(text)) {
			all[name] = string(text)
		}
	}
	add("", tree)
	return all
}
