package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// DebugWriter writes the file result.json into the debug folder of each attempt that has ended. The
// agent CLIs' backends write the other files in these folders.
type DebugWriter struct {
	dir   string
	model *Model
}

// debugResult is the content of result.json: the data about the state execution so far, and the
// data about the attempt.
type debugResult struct {
	*Exec
	Attempt    int                `json:"attempt"`
	OK         bool               `json:"ok"`
	Finished   time.Time          `json:"finished"`
	DurationMS int64              `json:"duration_ms"`
	CostUSD    state.USD          `json:"cost_usd"`
	Denied     []string           `json:"denied,omitempty"`
	Verdict    *state.NodeAttempt `json:"verdict,omitempty"`
}

// NewDebugWriter returns a DebugWriter that writes below dir, the folder of --debug-dir.
func NewDebugWriter(dir string, m *Model) *DebugWriter { return &DebugWriter{dir, m} }

// Report implements Reporter.
func (d *DebugWriter) Report(e state.Event) error {
	x := d.model.Last(e.Agent)
	if x == nil {
		return nil
	}
	r := debugResult{Exec: x, Attempt: x.Attempt(), OK: x.Status == Completed, Finished: x.Ended, DurationMS: x.DurationMS, CostUSD: x.Spent.USD}
	for _, refused := range x.Refusals {
		r.Denied = append(r.Denied, refused.Use)
	}
	if v := x.lastVerdict(); v != nil && v.Attempt == r.Attempt {
		r.Verdict = v
	}
	switch b := e.Body.(type) {
	case *state.NodeAttempt:
		r.Finished, r.DurationMS, r.CostUSD = e.Time, int64(b.DurationS*1000), b.USD
	case *state.StateFinished:
	case *state.Transition:
		if x.isOpen() {
			return nil
		}
	default:
		return nil
	}
	data, err := json.MarshalIndent(&r, "", "  ")
	if err != nil {
		return err
	}
	folder := runner.DebugFolder(d.dir, runner.DebugStep{N: r.N, Agent: r.Agent, State: r.State, Attempt: r.Attempt})
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return files.Write(filepath.Join(folder, "result.json"), append(data, '\n'), 0o600)
}

// Close implements Reporter.
func (d *DebugWriter) Close() error { return nil }
