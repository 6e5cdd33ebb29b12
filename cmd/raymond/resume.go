package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// resumeCommand returns the command that continues a run.
func (a *App) resumeCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "resume WORKFLOW_ID", Short: "resume a run where it stopped"}
	o := a.newOptions(cmd)
	o.AddAll()
	o.Resumes = true
	var given ask.FlagAnswers
	given.AddFlags(o)
	cmd.PreRun = func(*cobra.Command, []string) {
		for _, name := range []string{"input", "input-file", "meta", "name", "workflow-id"} {
			if o.IsGiven(name) {
				o.Reject(problem.Usage("--"+name, "can't be changed when a run is resumed", "start a new run instead"))
			}
		}
	}
	onRun(cmd, o, func(id string) error { return a.resume(o, id, given) })
	return cmd
}

func (a *App) resume(o *options.Options, id string, given ask.FlagAnswers) error {
	store, run, err := journal.Open(o.StateDir, id, session.Holder())
	if err != nil {
		return err
	}
	defer store.Close()
	updates, err := given.Match(run)
	if err != nil {
		return err
	}
	if run.Progress.Status == state.Completed {
		return session.ShowCompleted(session.Setup{
			Options: o, Run: run, Store: store, Resumed: true, Dir: session.RunDir(o.StateDir, id), Stdout: a.Stdout, Stderr: a.Stderr,
		})
	}
	s, err := session.Reopen(run)
	if err != nil {
		return err
	}
	defer s.Close()
	edited := session.ChangedFiles(run, s)
	if o.RefuseChanged {
		if err := session.CheckUnchanged(edited); err != nil {
			return err
		}
	}
	if err := o.InheritProtection(run.Options); err != nil {
		return err
	}
	changed := o.Apply(run.Options)
	if err := session.CheckResume(&changed, run, s, filepath.Join(o.StateDir, id+".json")); err != nil {
		return err
	}
	if err := checkNeeds(o, s, changed); err != nil {
		return err
	}
	if len(edited) > 0 && !o.Quiet {
		fmt.Fprintln(a.Stderr, "raymond: note: "+text.Escape("the run continues with the current versions of these files: "+strings.Join(edited, ", ")))
	}
	return a.drive(session.Setup{Options: o, Scope: s, Run: run, Store: store, Resumed: true, NewOptions: &changed}, updates)
}
