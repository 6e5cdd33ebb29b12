package repotest

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/shell"
	"github.com/raymond-action/raymond-action/runner/simulate"
	"github.com/raymond-action/raymond-action/runner/verify"
	"github.com/raymond-action/raymond-action/state"
)

// saves is a store that remembers every state of the run that is saved, as the
// state file has it, and how reruns from there begin.
type saves struct {
	runner.Store
	t     *testing.T
	run   *state.Run
	made  [][]byte
	begun int // state executions, of which there is a rerun
}

func (s *saves) Append(d *state.Delta) error {
	s.keep(s.run.With(d))
	return s.Store.Append(d)
}

func (s *saves) Fold(r *state.Run, d *state.Delta) error {
	s.keep(r)
	return s.Store.Fold(r, d)
}

func (s *saves) keep(r *state.Run) {
	s.run = r
	s.encode(r)
	for ; s.begun < r.Progress.Iterations; s.begun++ {
		again, err := state.Rerun(r, s.begun+1, state.Renewal{WorkflowID: "again", Mark: r.Mark, Now: time.Now()})
		if err != nil {
			s.t.Fatal(err)
		}
		step := again.Step(time.Now())
		step.Begin()
		s.encode(again.With(step.Delta()))
	}
}

func (s *saves) encode(r *state.Run) {
	data, err := r.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	s.made = append(s.made, data)
}

// lines collects the events of a run as the log has them.
type lines struct {
	t   *testing.T
	out [][]byte
}

func (l *lines) Report(e state.Event) {
	line, err := e.Line("w")
	if err != nil {
		l.t.Error(err)
	}
	l.out = append(l.out, line)
}

func (*lines) Tick(time.Time)                       {}
func (*lines) Note(_, _, _ string)                  {}
func (*lines) Doing(_, _ string, _ runner.Progress) {}

// simulated runs a workflow with scripted replies in this process, and returns
// every state file that a run would have had, and its event log.
func (r schemaRun) simulated(t *testing.T) (states, events [][]byte) {
	t.Helper()
	w, _ := protocol.Load(os.DirFS(r.dir), protocol.LoadOptions{Entry: r.Entry, Platform: protocol.Unix})
	if r.Entry != "" {
		c := protocol.NewConvergence(r.Options.DoneWhen)
		c.MaxAttempts = r.Options.MaxAttempts
		w.Loop(c)
	}
	replies, problems, err := simulate.Read(strings.NewReader(r.replies))
	if err != nil || len(problems) > 0 {
		t.Fatalf("%s: replies: %v %v", r.dir, err, problems)
	}
	clock := simulate.NewClock(time.Now().Round(0))
	people := simulate.NewPeople(replies)
	actor := simulate.NewActor(replies, clock, shell.Backend{Env: os.Environ()}, verify.Verifier{Env: os.Environ()})
	log := &lines{t: t}
	run := state.New(state.Run{
		WorkflowID: "w", Mark: "0123456789abcdef", Scope: r.dir, Entry: w.Entry(), Dir: t.TempDir(), Files: w.Hashes(), Meta: r.Meta, Options: r.Options,
	}, string(replies.Input), time.Now())
	if first, ok := w.State(w.Entry()); ok && first.OnComment != "" {
		run.KeepLast()
	}
	telling := runner.TellNothing
	if r.Verbose {
		telling = runner.TellAll
	}
	store := &saves{Store: actor, t: t}
	cfg := runner.Config{
		Workflow: w, NewID: uuid.NewString, Telling: telling, Deadline: time.Duration(r.Deadline), Redact: secrets.NewRedactor(nil).Text,
		PayloadDir: t.TempDir(), LogDir: t.TempDir(), ScriptDir: r.dir, Clock: people.Runner(clock), Verifier: actor,
		Store: store, Agents: actor.Agents(), Scripts: actor.Scripts(), Reporter: log,
		People: people, Hold: -1, Jobs: r.Jobs, NewToken: func() string { return strings.Repeat("0123456789abcdef", 2) },
	}
	if err := runner.New(cfg, run).Run(t.Context(), false, nil); err != nil {
		t.Fatal(err)
	}
	return store.made, log.out
}

// TestSchemasTakeRuns validates every save and every event of the runs of
// testdata/schema, which between them have all that a state file may hold.
func TestSchemasTakeRuns(t *testing.T) {
	t.Parallel()
	ofState, ofEvent := schema(t, "state"), schema(t, "events")
	seen, types := map[string]bool{}, map[string]bool{}
	for _, flow := range schemaRuns(t) {
		states, events := flow.simulated(t)
		for _, data := range states {
			if err := validJSON(t, ofState, data); err != nil {
				t.Fatalf("%s: a save: %v\n%s", flow.dir, err, data)
			}
			if _, err := state.Decode(data); err != nil {
				t.Fatalf("%s: a save: %v", flow.dir, err)
			}
			noteKeys(t, data, seen)
		}
		for _, line := range events {
			if err := validJSON(t, ofEvent, line); err != nil {
				t.Fatalf("%s: an event: %v\n%s", flow.dir, err, line)
			}
			var head struct{ Type string }
			if err := json.Unmarshal(line, &head); err != nil {
				t.Fatal(err)
			}
			types[head.Type] = true
		}
	}
	wantAll(t, "events", sortedKeys(types), ofEvent, []string{"checkpoint", "attempt_interrupted"})
	wantKeys(t, seen, ofState)
}

// wantAll checks that the runs have every type of event but those that no
// simulation brings about.
func wantAll(t *testing.T, what string, got []string, s *jsonschema.Schema, rare []string) {
	t.Helper()
	var want []string
	for _, branch := range s.OneOf {
		name := filepath.Base(branch.Ref.Location)
		if !slices.Contains(rare, name) {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s of the runs: got %q, want %q", what, got, want)
	}
}

// neverSimulated are the keys of a state file that need a real agent, a resume, a
// crash or thousands of agents.
var neverSimulated = []string{
	"length", "end", "entry_len", "cut", "interrupted", "noted", "until", "claude_args", "models", "by_model", "input", "output", "cache_write", "cache_read",
	"allowed_tools", "disallowed_tools", "effort", "permission_mode", "dangerously_skip_permissions", "agent_code", "base64", "protected",
	"bytes", "seq_stored", "store", "tail", "truncated", "idle_timeout", "dir", "exhausted", "hold", "unknown_in_a_row",
	"attempt_estimated", "attempt_unknown", "cost_estimated", "cost_unknown", "cost_unpriced", "attempt_unpriced", "unpriced", "tokens", "cached", "metered", "reached", "usd",
	"parts", "name", "earlier", "began", "continuing", "continuations", "suspended", "on_overload", "comment",
	"agent_cli", "refusals", "use", "allow", "allows_all", "past", "sums", "entries",
	"caps", "max_usd", "before_usd", "from_usd", "allow_usd", "trace", "dropped", "inherited", "paused",
	"cli_id", "from_cli_id",
}

// wantKeys checks that the runs have nearly every key of the schema, so that
// their being valid says something.
func wantKeys(t *testing.T, seen map[string]bool, s *jsonschema.Schema) {
	t.Helper()
	known := map[string]bool{}
	var visit func(s *jsonschema.Schema, done map[string]bool)
	visit = func(s *jsonschema.Schema, done map[string]bool) {
		if s == nil || done[s.Location] {
			return
		}
		done[s.Location] = true
		visit(s.Ref, done)
		visit(s.Items2020, done)
		for _, one := range s.OneOf {
			visit(one, done)
		}
		for key, p := range s.Properties {
			known[key] = true
			visit(p, done)
		}
	}
	visit(s, map[string]bool{})
	for _, key := range neverSimulated {
		delete(known, key)
	}
	maps.DeleteFunc(known, func(key string, _ bool) bool { return seen[key] })
	if len(known) > 0 {
		t.Errorf("keys that no save of the runs has: got %q, want none", sortedKeys(known))
	}
}

func noteKeys(t *testing.T, data []byte, seen map[string]bool) {
	t.Helper()
	eachObject(parsed(t, data), func(o map[string]any) {
		for key := range o {
			seen[key] = true
		}
	})
}

func parsed(t *testing.T, data []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// eachObject calls f for every object in a JSON value.
func eachObject(v any, f func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		f(v)
		for _, key := range sortedKeys(v) {
			eachObject(v[key], f)
		}
	case []any:
		for _, item := range v {
			eachObject(item, f)
		}
	}
}

// schemaRun is a workflow of testdata/schema with its replies. The comment of its
// file is JSON, and says how it is run.
type schemaRun struct {
	dir, replies string

	Entry    string // of a state file that is run alone
	Verbose  bool
	Jobs     []string
	Meta     map[string]string
	Deadline state.Duration
	Options  state.Options
}

// schemaRuns unpacks the workflows of testdata/schema.
func schemaRuns(t *testing.T) []schemaRun {
	t.Helper()
	var runs []schemaRun
	for _, name := range glob(t, "cmd/raymond/internal/repotest/testdata/schema/*.txtar") {
		archive := txtar.Parse([]byte(readText(t, name)))
		run := schemaRun{dir: t.TempDir(), Options: state.Options{
			BudgetUSD: 10 * state.Dollar, MaxParallel: 4, MaxAgents: 256, MaxDepth: 64, MaxRetries: 3, MaxReminders: 3,
			IdleTimeout: state.Duration(15 * time.Minute), Grace: state.Duration(30 * time.Second), PermissionMode: "acceptEdits",
		}}
		if err := json.Unmarshal(archive.Comment, &run); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, f := range archive.Files {
			if f.Name == "replies.yaml" {
				run.replies = string(f.Data)
				continue
			}
			if err := os.WriteFile(filepath.Join(run.dir, f.Name), f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		runs = append(runs, run)
	}
	return runs
}

// TestSchemaOfTheStateFileIsAsStrictAsTheProgram changes every object of real
// state files, in ways that the program refuses too.
func TestSchemaOfTheStateFileIsAsStrictAsTheProgram(t *testing.T) {
	t.Parallel()
	s := schema(t, "state")
	refused := func(what string, v any) {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := state.Decode(data); err == nil && !strings.Contains(what, "event") {
			t.Errorf("%s: the program takes it:\n%s", what, data)
		}
		if s.Validate(v) == nil {
			t.Errorf("%s: the schema takes it:\n%s", what, data)
		}
	}
	flow := schemaRuns(t)[0]
	states, _ := flow.simulated(t)
	v := parsed(t, states[len(states)/2])
	for _, key := range []string{"schema", "workflow_id", "created", "mark", "scope", "entry", "dir", "files", "options", "progress", "agents"} {
		o := v.(map[string]any)
		old := o[key]
		delete(o, key)
		refused("without "+key, v)
		o[key] = nil
		refused("with null for "+key, v)
		o[key] = true
		refused("with true for "+key, v)
		o[key] = old
	}
	eachObject(v, func(o map[string]any) {
		_, isEvent := o["type"]
		_, ofEvent := o["rc"] // the results of a verdict, which is an event too
		what := "object with " + strings.Join(sortedKeys(o), ", ")
		if o["1_START.md"] != nil || o["n"] == "1" || o["who"] != nil {
			return // of files, variables or metadata: any key is good there
		}
		if isEvent || ofEvent {
			what = "event with " + strings.Join(sortedKeys(o), ", ")
		}
		o["unknown_key"] = "x"
		refused(what+" and an unknown key", v)
		delete(o, "unknown_key")
		for _, key := range sortedKeys(o) {
			old := o[key]
			o[key] = nil
			refused(what+", null for "+key, v)
			o[key] = old
		}
	})
	if err := s.Validate(v); err != nil {
		t.Errorf("after all changes were undone: %v", err)
	}
}

// TestSchemaOfEventsRefusesOthers changes every event of real logs.
func TestSchemaOfEventsRefusesOthers(t *testing.T) {
	t.Parallel()
	s := schema(t, "events")
	flow := schemaRuns(t)[0]
	_, events := flow.simulated(t)
	for _, line := range events {
		o := parsed(t, line).(map[string]any)
		refused := func(what string) {
			if s.Validate(o) == nil {
				t.Errorf("%s\n%s: the schema takes it", line, what)
			}
		}
		for _, key := range []string{"time", "seq", "type", "workflow_id"} {
			old := o[key]
			delete(o, key)
			refused("without " + key)
			o[key] = nil
			refused("null for " + key)
			o[key] = old
		}
		o["unknown_key"] = 1
		refused("with an unknown key")
		delete(o, "unknown_key")
		old := o["type"]
		o["type"] = "other"
		refused("of another type")
		if o["type"] = old; s.Validate(o) != nil {
			t.Errorf("%s: got it refused after all changes were undone", line)
		}
	}
}
