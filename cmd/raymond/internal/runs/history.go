package runs

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/snapshots"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// Folder is a state folder whose runs are shown with the files that they changed.
type Folder struct {
	Dir     string
	Environ []string // in which git is found
}

// PrintHistory prints the state executions of a run.
func (f Folder) PrintHistory(out io.Writer, id string, asJSON bool) error {
	_, list, err := ReadExecutions(f.Dir, id)
	if err == nil {
		err = f.addFiles(list, id)
	}
	if err != nil {
		return err
	}
	if asJSON {
		return PrintJSON(out, list)
	}
	return showHistory(out, list)
}

// addFiles adds the files that the executions changed.
func (f Folder) addFiles(list []Execution, id string) error {
	own, err := filepath.Abs(filepath.Join(f.Dir, id))
	if err != nil {
		return err
	}
	if _, err := os.Lstat(snapshots.Path(own)); err != nil {
		return nil // none are kept
	}
	path, err := workspace.Find(f.Environ)
	if err != nil {
		return &problem.Problem{Class: problem.ClassRuntime, Where: "git", What: err.Error()}
	}
	git := workspace.Git{Path: path, Env: f.Environ, IsFree: true}
	changes, err := git.OpenSnapshots(snapshots.Path(own)).Changes(context.Background(), workspace.Most{})
	if err != nil {
		return &problem.Problem{Class: problem.ClassRuntime, Where: "snapshots of " + id, What: err.Error()}
	}
	for i := range list {
		list[i].add(changes)
	}
	return nil
}

// add adds the files that the execution changed.
func (e *Execution) add(changes map[int]workspace.Changes) {
	found, ok := changes[e.Exec]
	if !ok {
		return
	}
	e.Files = []string{}
	for _, c := range found.Files {
		if !slices.Contains(e.Files, c.Path) { // a file that has become a folder is told twice
			e.Files = append(e.Files, c.Path)
		}
	}
}

// ReadExecutions reads a run and its state executions, without its lock.
func ReadExecutions(dir, id string) (*state.Run, []Execution, error) {
	run, driver, err := Read(dir, id)
	if err != nil {
		return nil, nil, err
	}
	list, err := executionsOf(dir, run, driver != nil)
	return run, list, err
}

// showHistory prints a line for each execution.
func showHistory(out io.Writer, list []Execution) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "EXEC\tAGENT\tSTATE\tSTATUS\tCOST\tTIME\tATTEMPTS\tSESSION\tTRANSITION\tFILES")
	for _, e := range list {
		took := ""
		if e.Status != report.Running && e.Status != report.Interrupted {
			took = report.Span(time.Duration(e.DurationMS) * time.Millisecond)
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%d%s\t%s\t%s\t%s\n", e.Exec, text.Escaped(e.Agent), text.Escaped(e.State), e.Status,
			e.spent, orDash(took), e.Attempts, e.again, orDash(e.SessionID), orDash(e.next()), orDash(fileNames(e.Files)))
	}
	return w.Flush()
}

// orDash shows that there is nothing.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return text.Escaped(s)
}

// next says where the execution led, and why it failed if it did.
func (e *Execution) next() string {
	if e.Status == report.Failed {
		return problem.Shorten(e.err)
	}
	return arrow(e.Transition)
}

// arrow shows a transition in a few words.
func arrow(t *state.Transition) string {
	if t == nil {
		return ""
	}
	words := t.Tag
	if t.Target != "" {
		words += " " + t.Target
	}
	for _, after := range []string{t.Return, t.Next} {
		if after != "" {
			words += ", then " + after
		}
	}
	return words
}

// mostNames is how many files are named in a line.
const mostNames = 3

// fileNames names the first of some files.
func fileNames(files []string) string {
	if len(files) <= mostNames {
		return strings.Join(files, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(files[:mostNames], ", "), len(files)-mostNames)
}
