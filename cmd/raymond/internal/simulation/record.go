package simulation

import (
	"errors"
	"fmt"
	"io"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/reports"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/simulate"
	"github.com/raymond-action/raymond-action/state"
)

// Recording makes a replies file from what is kept of a run.
type Recording struct {
	ID     string         // of the run
	Runs   reports.Source // where runs are read
	Stdout io.Writer
	Stderr io.Writer
}

// Print prints the replies file.
func (r Recording) Print() error {
	unknown := problem.Usage("--record", fmt.Sprintf("%q is no run of %s", problem.Shorten(r.ID), r.Runs.StateDir), "raymond list shows the runs")
	if !state.ValidID(r.ID) {
		return unknown
	}
	report, err := reports.Read(r.Runs, r.ID)
	if errors.Is(err, state.ErrNotFound) {
		return unknown
	}
	if err != nil {
		return err
	}
	replies, lacking := simulate.Record(report)
	for _, st := range lacking {
		fmt.Fprintln(r.Stderr, "raymond: warning: "+text.Escaped(st)+": no transcript has all that was said in this state; complete its replies by hand")
	}
	return replies.Write(r.Stdout)
}
