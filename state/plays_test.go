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
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/goldentest"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/statetest"
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
		here := anywhere
		here.JobOf = s.flow.JobOf
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
	default: // the name of an agent, which makes a turn
		s.begin(verb)
		s.end(verb, s.outcome(verb, rest))
	}
	return s.printChanges()
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
	now["next"] = map[string]string{"agent": ""}
	if a, ok := step.Schedule().Next(busy); ok {
		now["next"]["agent"] = a.ID
	}
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

// play drives a run step by step. It checks after each step that the run is valid.
type play struct {
	t   *testing.T
	run *state.Run
	now time.Time
	// ids counts the ids of conversations that start has assigned.
	ids      int
	policies map[string]protocol.Policy
	events   []state.Event // all events so far
	flow     *protocol.Workflow
}

// newPlay begins a run. If change is not nil, newPlay first calls it to change the run's options.
func newPlay(t *testing.T, change func(*state.Options)) *play {
	t.Helper()
	p := &play{t: t, run: statetest.NewRun(), now: statetest.Epoch, policies: map[string]protocol.Policy{}}
	if change != nil {
		change(&p.run.Options)
	}
	p.do(func(s *state.Step) { s.Begin() })
	return p
}

// do makes one step of the run and adds its events to p.events.
func (p *play) do(f func(*state.Step)) {
	p.t.Helper()
	step := p.run.Step(p.now)
	f(step)
	next := p.run.With(step.Delta())
	if len(next.Agents) == 0 && next.Progress.Status == state.Running {
		ended := *next // the runner closes the run in the same step
		ended.Progress.Status = state.Completed
		next = &ended
	}
	assert.NilError(p.t, next.Validate(), "step %d", next.Progress.Seq)
	p.run, p.events = next, append(p.events, next.Events...)
}

// resume simulates a new process that resumes the saved run. If change is not nil, it changes the run's
// options. used is the usage that the transcripts of interrupted invocations contain.
func (p *play) resume(change func(*state.Options), used ...state.ModelCost) {
	p.t.Helper()
	p.do(func(s *state.Step) {
		if change != nil {
			o := p.run.Options
			change(&o)
			s.Override(o, p.run.Files)
		}
		lost := map[string]state.Outcome{}
		for _, a := range p.run.InterruptedAgents() {
			lost[a.ID] = state.Outcome{Used: used}
		}
		s.Resume(lost)
	})
}

// agent returns the agent with this id, which must exist.
func (p *play) agent(id string) *state.Agent {
	p.t.Helper()
	a, ok := p.run.Agent(id)
	assert.Assert(p.t, ok, "no agent %s", id)
	return a
}

// state returns the state with this name, from p.flow or, if that is nil, with the policy in p.policies.
func (p *play) state(name string) *protocol.State {
	if p.flow != nil {
		st, _ := p.flow.State(name)
		return st
	}
	st := statetest.StateOf(name)
	st.Policy = p.policies[name]
	return st
}

// start starts an invocation of an agent and returns it. A conversation that is resumed has a transcript of
// 100 bytes, unless it is cut.
func (p *play) start(id string) state.Invocation {
	p.t.Helper()
	p.do(func(s *state.Step) {
		a, _ := s.Agent(id)
		l := state.Launch{State: p.state(a.State), Plan: a.Plan(p.state(a.State), statetest.FullCLI), Cwd: statetest.Abs("/d")}
		switch l.Plan.Mode {
		case state.Resume:
			l.SessionID, l.Length = l.Plan.Session.ID, l.Plan.Cut
			if l.Length == nil {
				l.Length = new(int64(100))
			}
		case state.Fresh, state.Branch:
			p.ids++
			l.SessionID = fmt.Sprintf("s%d", p.ids)
		}
		s.Start(id, l)
	})
	return *p.agent(id).Exec.Running
}

// end ends the agent's invocation with the given outcome.
func (p *play) end(id string, o state.Outcome) {
	p.t.Helper()
	p.do(func(s *state.Step) {
		a, _ := s.Agent(id)
		s.End(id, p.state(a.State), o)
	})
}

// invoke starts an invocation of an agent, ends it with the given outcome, and returns it.
func (p *play) invoke(id string, o state.Outcome) state.Invocation {
	p.t.Helper()
	started := p.start(id)
	p.end(id, o)
	return started
}

// turn starts an invocation of an agent and ends it with a move. The invocation costs a cent.
func (p *play) turn(id string, move protocol.Move, spawns ...protocol.Spawn) state.Invocation {
	p.t.Helper()
	return p.invoke(id, state.Outcome{Cost: cost(state.Dollar / 100), Decision: protocol.Decision{Spawns: spawns, Then: move}})
}

// moveOutcome returns the outcome of an invocation that costs usd and ends with a move.
func moveOutcome(usd state.USD, move protocol.Move) state.Outcome {
	return state.Outcome{Cost: cost(usd), Decision: protocol.Decision{Then: move}}
}

// cost returns an exact cost.
func cost(usd state.USD) state.Cost { return state.Cost{Kind: state.Exact, USD: usd} }

// fail returns the outcome of an invocation that failed and cost nothing.
func fail(class state.Class, text string) state.Outcome {
	return state.Outcome{Cost: cost(0), Failure: &state.Failure{Class: class, Message: text}}
}

func goTo(to string) protocol.Move { return protocol.Move{Verb: protocol.Goto, To: to} }

func reset(to string) protocol.Move { return protocol.Move{Verb: protocol.Reset, To: to} }

func call(to, back string) protocol.Move {
	return protocol.Move{Verb: protocol.Call, To: to, Return: back}
}

func result(text string) protocol.Move { return protocol.Move{Verb: protocol.Result, Text: text} }

// equal reports an error if got and want differ.
func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	assert.Check(t, is.DeepEqual(got, want), what)
}
