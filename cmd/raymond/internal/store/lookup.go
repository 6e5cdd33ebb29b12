package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// Lookup is the result of a search for a run. With a run, Dir contains its event log, history, logs
// and conversations, and Manifest describes it.
type Lookup struct {
	slots.Found
	Run *state.Run // nil if no run was found
	// OnMachine is set if the run's files are on this machine, where its agents have worked before.
	OnMachine bool

	isListed bool   // the artifacts of this workflow run were listed
	stateDir string // has the state file of the run and its history; "" if Dir has them
	work     string // the saved work of agents; "" for none, or before Relocate
	here     checkpoint.MachineDirs
	where    func(dir string) string // nil before Relocate
	joined   []*Part                 // parts that were merged into Run
}

// Remove removes the files that Look has downloaded.
func (l *Lookup) Remove() {
	if l != nil && !l.OnMachine {
		l.Found.Remove()
	}
}

// EventLog returns the path of the run's event log.
func (l *Lookup) EventLog() string { return filepath.Join(l.Dir, session.EventsFile) }

// Commits returns the commits that the run has created.
func (l *Lookup) Commits() []string { return workspace.Commits(l.workDir()) }

// workDir returns the directory for the saved work of agents.
func (l *Lookup) workDir() string {
	if l.OnMachine {
		return filepath.Join(l.Dir, filepath.Base(readSavedWork(l.Dir).Folder))
	}
	return filepath.Join(l.Dir, "workspace")
}

// HasWork reports whether Restore restores work of agents into the workspace.
func (l *Lookup) HasWork() bool { return l.work != "" && workspace.HasWork(l.work) }

// IsDriven reports whether a process of this machine drives the run.
func (l *Lookup) IsDriven() bool {
	if !l.OnMachine {
		return false
	}
	by, err := journal.FindDriver(l.stateDir, l.Run.WorkflowID)
	return by != nil || err != nil
}

// Relocate gives the run the directories of this machine. Further calls do nothing.
func (l *Lookup) Relocate() error {
	switch {
	case l.where != nil:
		return nil
	case l.OnMachine:
		l.where = func(dir string) string { return dir }
		return nil
	}
	trees, err := workspace.Trees(l.workDir())
	if err != nil {
		return &problem.Problem{Class: problem.ClassBadState, Where: "workspace", What: err.Error()}
	}
	if len(trees) > 0 {
		l.work = l.workDir()
	}
	l.where = checkpoint.Relocation(l.Manifest.Dirs, l.here, trees)
	l.Run, err = l.Run.Relocate(l.where)
	return err
}

// Snapshots returns the workspace snapshots of the run. run is the run at an earlier time, whose
// directories are accepted, too.
func (l *Lookup) Snapshots(ctx context.Context, tree *Worktree, run *state.Run) (*workspace.Snapshots, error) {
	if l.OnMachine {
		return tree.Snapshots(l.Dir), nil
	}
	moved, err := run.Relocate(l.where)
	if err != nil {
		return nil, err
	}
	from := workspace.RestoreRequest{From: l.workDir(), Dir: l.where}
	return tree.Snapshots(l.Dir), tree.unpackSnapshots(ctx, l.Dir, from, append([]string{tree.Dir}, moved.Dirs()...))
}

// Receipt returns where the run that was found is stored.
func (l *Lookup) Receipt() Receipt {
	switch {
	case l.OnMachine:
		return Receipt{Place: OnMachine, IsWhole: true, Omissions: readSavedWork(l.Dir).LeftOut}
	case l.Run == nil:
		return Receipt{}
	}
	return Receipt{Place: Elsewhere, Name: l.Artifact.Name, Checkpoint: slots.Named{WorkflowID: l.Run.WorkflowID, Generation: l.Manifest.Generation, Digest: l.Digest}}
}

// Where maps a directory of the machine that has stored the run to this machine, after Relocate.
func (l *Lookup) Where(dir string) string { return l.where(dir) }

// StateDir returns a state directory in which the run can be read with its history. After this, the
// run can't be resumed.
func (l *Lookup) StateDir() (string, error) {
	if l.OnMachine {
		return l.stateDir, nil
	}
	dir, id := filepath.Join(l.Dir, "state"), l.Run.WorkflowID
	err := os.MkdirAll(filepath.Join(dir, id), 0o700)
	for from, to := range map[string]string{
		"state.json": id + ".json", checkpoint.HistoryName: id + journal.Ext, session.EventsFile: filepath.Join(id, session.EventsFile),
	} {
		err = errors.Join(err, moveIfThere(filepath.Join(l.Dir, from), filepath.Join(dir, to)))
	}
	return dir, problem.OfMachine("checkpoint", err)
}

// moveIfThere renames a file of a checkpoint. A missing file is not an error.
func moveIfThere(from, to string) error {
	err := files.Rename(from, to)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// readState reads the run of a checkpoint that was verified.
func readState(found *slots.Found) (*state.Run, error) {
	data, _, err := files.Read(filepath.Join(found.Dir, "state.json"), maxState)
	if err != nil {
		return nil, &problem.Problem{Class: problem.ClassBadState, Where: found.Artifact.Name, What: "has no state.json"}
	}
	run, err := state.Decode(data)
	if err == nil && run.WorkflowID != found.Manifest.WorkflowID {
		err = &state.FileError{Field: "workflow_id", What: "does not match the manifest"}
	}
	return run, inArtifact(found.Artifact.Name, "state.json", err)
}

// maxState is the size in bytes of the largest state file that is read from a checkpoint.
const maxState = 64 << 20

// inArtifact sets the path of a *state.FileError to the names of the artifact and of the file in
// it, because users don't know the directory where it was unpacked.
func inArtifact(artifact, file string, err error) error {
	if bad, ok := errors.AsType[*state.FileError](err); ok {
		bad.Path = artifact + ": " + file
	}
	return err
}

// placeConversations copies the conversations of a checkpoint to where the agent CLIs of this
// machine look for them, and records them. only, if not nil, has the sessions that are restored. If
// keepsLonger is set, an existing conversation that begins like the stored one stays.
func (l *Lookup) placeConversations(log *ConversationLog, agents map[string]runner.AgentCLI, only map[string]bool, keepsLonger bool) error {
	for _, t := range l.Manifest.Transcripts {
		if only != nil && !only[t.Session] {
			continue
		}
		err := errors.New("belongs to the agent " + t.Backend + ", which this program does not have")
		if cli, ok := agents[t.Backend]; ok {
			c := runner.Conversation{ID: t.Session, CLI: t.CLIID, Dir: l.where(t.Dir)}
			from := filepath.Join(l.Dir, filepath.FromSlash(t.Name()))
			if there, ok := cli.Find(c, []string{c.Dir}); ok && keepsLonger && transcripts.HasPrefix(there.Path, from) {
				continue
			}
			if err = cli.Place(c, from); err == nil {
				log.AddPlaced(cli, c)
			}
		}
		if err != nil {
			return &problem.Problem{Class: problem.ClassRuntime, Where: "transcript " + t.Session, What: err.Error()}
		}
	}
	return nil
}
