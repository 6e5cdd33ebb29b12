package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Debug writes result.json into the debug folder of each attempt that ended. The
// backends write the other files there.
type Debug struct {
	dir      string
	attempts map[string]*attempt
}

// attempt is the last attempt of an agent.
type attempt struct {
	seq    int
	ended  bool // the execution, not just the attempt
	result debugResult
}

// debugResult is the content of result.json.
type debugResult struct {
	Agent      string             `json:"agent"`
	State      string             `json:"state"`
	Kind       string             `json:"kind"`
	Attempt    int                `json:"attempt"`
	OK         bool               `json:"ok"`
	ExitCode   *int               `json:"exit_code,omitempty"` // of attempts that were not the last: absent
	Signal     string             `json:"signal,omitempty"`
	Started    time.Time          `json:"started"`
	Finished   time.Time          `json:"finished"`
	DurationMS int64              `json:"duration_ms"`
	CostUSD    state.USD          `json:"cost_usd"`
	SessionID  string             `json:"session_id,omitempty"`
	Turns      int                `json:"turns"`
	Denied     []string           `json:"denied"`
	Error      string             `json:"error,omitempty"`
	Verdict    *state.NodeAttempt `json:"verdict,omitempty"`
	// Transition is absent until it is known, and for a failure.
	Transition *state.Transition `json:"transition,omitempty"`
	// Further has the other tags of a state that forked several agents.
	Further []*state.Transition `json:"further_transitions,omitempty"`
}

// NewDebug returns a Debug for the folder given with --debug-dir.
func NewDebug(dir string) *Debug {
	return &Debug{dir: dir, attempts: map[string]*attempt{}}
}

// Report implements Reporter.
func (d *Debug) Report(e state.Event) error {
	switch b := e.Body.(type) {
	case *state.StateStarted:
		d.begin(e, b)
	case *state.NodeAttempt:
		return d.addVerdict(e, b)
	case *state.StateFinished:
		return d.end(e, b)
	case *state.Transition:
		return d.move(e, b)
	}
	return nil
}

// Close implements Reporter.
func (d *Debug) Close() error { return nil }

func (d *Debug) begin(e state.Event, b *state.StateStarted) {
	delete(d.attempts, e.Agent)
	a := d.of(e)
	a.result.Attempt, a.result.Kind = b.Attempt, b.Kind
}

// of returns the attempt that an event is about. It may have begun in an earlier part
// of the run, whose events are not here.
func (d *Debug) of(e state.Event) *attempt {
	a, ok := d.attempts[e.Agent]
	if !ok {
		a = &attempt{seq: e.Exec, result: debugResult{Agent: e.Agent, State: e.State, Attempt: 1, Started: e.Time, Denied: []string{}}}
		d.attempts[e.Agent] = a
	}
	return a
}

func (d *Debug) addVerdict(e state.Event, b *state.NodeAttempt) error {
	a := d.of(e)
	r := &a.result
	r.Attempt = b.Attempt
	r.Finished, r.Verdict, r.CostUSD = e.Time, b, b.CostUSD
	r.DurationMS = int64(b.DurationS * 1000)
	r.Error = b.Reason
	return d.write(a)
}

func (d *Debug) end(e state.Event, b *state.StateFinished) error {
	a := d.of(e)
	a.ended = true
	r := &a.result
	if b.Attempt > 0 && b.Attempt != r.Attempt {
		r.Attempt, r.Verdict = b.Attempt, nil
	}
	r.OK, r.ExitCode, r.Signal, r.Finished = b.OK, b.ExitCode, b.Signal, e.Time
	r.DurationMS, r.CostUSD, r.SessionID, r.Turns = b.DurationMS, b.CostUSD, b.SessionID, b.Turns
	r.Denied, r.Error = append([]string{}, b.Denied...), b.Error
	return d.write(a)
}

func (d *Debug) move(e state.Event, b *state.Transition) error {
	a, ok := d.attempts[e.Agent]
	if !ok || !a.ended {
		return nil
	}
	if a.result.Transition == nil {
		a.result.Transition = b
	} else {
		a.result.Further = append(a.result.Further, b)
	}
	return d.write(a)
}

func (d *Debug) write(a *attempt) error {
	r := &a.result
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode debug result: %w", err)
	}
	folder := runner.DebugFolder(d.dir, runner.DebugStep{N: a.seq, Agent: r.Agent, State: r.State, Attempt: r.Attempt})
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("create debug folder: %w", err)
	}
	if err := files.Write(filepath.Join(folder, "result.json"), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write debug result: %w", err)
	}
	return nil
}
