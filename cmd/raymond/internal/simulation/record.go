package simulation

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/reports"
	untrusted "github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/simulate"
	"github.com/raymond-action/raymond-action/state"
)

// Recording makes a replies file from what a run has left.
type Recording struct {
	What   string         // the --debug-dir of a run, or its id
	Runs   reports.Source // where runs are read
	Stdout io.Writer
	Stderr io.Writer
}

// Print prints the replies file. A debug folder is meant before a run of that id.
func (r Recording) Print() error {
	wrong := problem.Usage("--record", fmt.Sprintf("%q is neither a folder that --debug-dir named nor a run of %s", problem.Shorten(r.What), r.Runs.StateDir), "raymond list shows the runs")
	if info, err := os.Stat(r.What); err == nil && info.IsDir() {
		replies, err := folder(r.What)
		if err == nil {
			return replies.Write(r.Stdout)
		}
		wrong = problem.Usage("--record", err.Error(), "name the folder that --debug-dir named, or a run")
	}
	if !state.ValidID(r.What) {
		return wrong
	}
	report, err := reports.Read(r.Runs, r.What)
	if errors.Is(err, state.ErrNotFound) {
		return wrong
	}
	if err != nil {
		return err
	}
	replies, lacking := simulate.RecordRun(report)
	for _, st := range lacking {
		fmt.Fprintln(r.Stderr, "raymond: warning: "+text.Escaped(st)+": no transcript has all that was said in this state; complete its replies by hand, or record a run with --debug-dir")
	}
	return replies.Write(r.Stdout)
}

// folder returns the replies of a debug folder.
func folder(dir string) (*simulate.Replies, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return simulate.Record(untrusted.FS(root))
}
