package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner/diagram"
	"github.com/raymond-action/raymond-action/state"
)

func (a *App) diagramCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "diagram PATH", Short: "draw a workflow as a Mermaid flowchart",
		Long: "diagram prints a workflow, a directory, a zip archive or a state file, as a Mermaid flowchart,\n" +
			"which GitHub renders in a code block of the language mermaid. With --run it shows the way that\n" +
			"a run took, how often, and where it failed; PATH may then be left out.",
	}
	o := &options{cmd: cmd, set: map[string]bool{}}
	a.options[cmd] = o
	run := ""
	o.add("run", "WORKFLOW_ID", "show what this run did", func(s string) error {
		run = s
		if !state.ValidID(s) {
			return errors.New("is no workflow id; raymond list shows the runs")
		}
		return nil
	})
	o.addStateDir()
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) > 1 || len(args) == 0 && !o.set["run"] {
			o.errs = append(o.errs, problem.Usage("PATH", fmt.Sprintf("%d arguments are given, want one", len(args)),
				"name a directory, a zip archive or a state file"))
		}
		if err := o.check(); err != nil {
			return err
		}
		return a.diagram(o.stateDir, run, args)
	}
	return cmd
}

// diagram draws a workflow that may be wrong, as long as it has an entry: a
// drawing helps to see what is.
func (a *App) diagram(stateDir, id string, args []string) error {
	var path *diagram.Path
	if id != "" {
		run, err := state.Read(stateDir, id)
		if err != nil {
			return err
		}
		if path, err = pathOf(stateDir, run); err != nil {
			return err
		}
		args = append(args, run.Scope)
	}
	s, err := findScope(args[0])
	if err != nil {
		return err
	}
	defer s.close()
	s.load()
	if s.workflow.Entry() == "" {
		return s.faulty
	}
	if s.faulty != nil {
		fmt.Fprintln(a.Stderr, "raymond: warning: the workflow can't be run as it is; raymond lint says why")
	}
	_, err = io.WriteString(a.Stdout, diagram.Draw(s.workflow, path))
	return err
}

// pathOf reads what a run did from its event log. What a crash kept from the log
// is in the state file.
func pathOf(stateDir string, run *state.Run) (*diagram.Path, error) {
	log := filepath.Join(stateDir, run.WorkflowID, "events.jsonl")
	events, err := readEvents(log)
	if err != nil {
		return nil, err
	}
	path, last := &diagram.Path{}, 0
	for _, e := range append(events, run.Events...) {
		if e.Seq > last {
			path.Add(e)
			last = e.Seq
		}
	}
	return path, nil
}

// maxEvent bounds a line of an event log, in bytes; a result may be long.
const maxEvent = 64 << 20

// readEvents returns the events of a log, without a last line that is torn.
func readEvents(path string) ([]state.Event, error) {
	f, _, err := files.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var events []state.Event
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxEvent)
	lines.Split(wholeLines)
	for n := 1; lines.Scan(); n++ {
		var e state.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, &state.FileError{Path: path, Field: fmt.Sprintf("line %d", n), What: err.Error()}
		}
		events = append(events, e)
	}
	return events, lines.Err()
}

// wholeLines is bufio.ScanLines without a last line that has no end.
func wholeLines(data []byte, atEOF bool) (int, []byte, error) {
	advance, token, err := bufio.ScanLines(data, false)
	if advance == 0 && atEOF {
		return len(data), nil, err
	}
	return advance, token, err
}
