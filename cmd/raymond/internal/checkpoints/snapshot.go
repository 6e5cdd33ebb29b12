package checkpoints

import (
	"crypto/sha256"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// maxLogs is the maximum number of bytes of logs in a checkpoint.
const maxLogs = 128 << 20

// Snapshot is a run at the end of a step, from which a checkpoint is made. For files that only
// grow, it has their length at that time, because data that is added later belongs to later steps.
type Snapshot struct {
	// Last is set if this is the last snapshot of the step. Then an incomplete checkpoint is better
	// than no checkpoint.
	Last bool

	manifest    checkpoint.Manifest // the fields that come from the run
	state       []byte
	events      checkpoint.Entry
	transcripts []checkpoint.Entry
	history     history
	dir         string   // the run's directory
	dirs        []string // where agents work; the run's own comes first
	hasPrompted bool
}

// Take makes a snapshot of a run with its files in dir. It copies no files, so it is fast enough
// for the goroutine that owns the run, and only that goroutine may call it. agents has the agent
// CLIs by name, with the conversations of the run. seals is the integrity log of the run's files,
// or nil.
func Take(run *state.Run, dir string, agents map[string]runner.AgentCLI, seals *Seals) (*Snapshot, error) {
	data, err := run.Encode()
	if err != nil {
		return nil, err
	}
	h := history{path: dir + journal.Ext, size: -1, agents: agents}
	if has, isNamed := seals.has(h.path); isNamed {
		h.size, h.sum = has.size, [sha256.Size]byte(has.sum.Sum(nil))
	}
	s := &Snapshot{state: data, dir: dir, dirs: Dirs(run), history: h, hasPrompted: HasPrompted(run)}
	p := &run.Progress
	s.manifest = checkpoint.Manifest{
		WorkflowID: run.WorkflowID, Status: p.Status, Reason: p.Reason,
		Seq: p.Seq, TotalUSD: p.TotalUSD, Estimated: run.Spent().Estimated, Iterations: run.OwnExecutions(), Created: time.Now().UTC().Truncate(time.Millisecond),
	}
	for _, session := range checkpoint.Sessions(run) {
		t := checkpoint.Transcript{Session: session.ID, Backend: session.Backend, CLIID: session.CLIID}
		if t, part, ok := s.find(t, session.Dirs); ok {
			s.add(t, part)
		}
	}
	log := filepath.Join(dir, "events.jsonl")
	if info, err := os.Lstat(log); err == nil && info.Mode().IsRegular() {
		s.events = checkpoint.Entry{Name: "events.jsonl", Path: log, Size: info.Size()}
	}
	return s, nil
}

// HasPrompted reports whether a run has executed a prompt.
func HasPrompted(run *state.Run) bool {
	return slices.ContainsFunc(run.Used, func(file string) bool { return protocol.KindOf(file) == protocol.Prompt })
}

// find finds a conversation whose agent worked in one of the given directories; ok is false if it
// does not exist.
func (s *Snapshot) find(t checkpoint.Transcript, dirs []string) (checkpoint.Transcript, checkpoint.Entry, bool) {
	cli, ok := s.history.agents[t.Backend]
	if !ok {
		return t, checkpoint.Entry{}, false
	}
	found, ok := cli.Find(runner.Conversation{ID: t.Session, CLI: t.CLIID}, dirs)
	t.Dir = found.Dir
	return t, checkpoint.Entry{Name: t.Name(), Path: found.Path, Size: found.Size}, ok
}

func (s *Snapshot) add(t checkpoint.Transcript, part checkpoint.Entry) {
	s.transcripts = append(s.transcripts, part)
	s.manifest.Transcripts = append(s.manifest.Transcripts, t)
}

// logs returns the logs of the run, as far as they fit into a checkpoint.
func (s *Snapshot) logs() ([]checkpoint.Entry, error) {
	var parts []checkpoint.Entry
	room := int64(maxLogs)
	root := filepath.Join(s.dir, "logs")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil && path == root {
			return nil // the run has written no logs
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(s.dir, path)
		name := filepath.ToSlash(rel)
		if err != nil || checkpoint.CheckName(name) != nil || info.Size() > room {
			return err
		}
		room -= info.Size()
		parts = append(parts, checkpoint.Entry{Name: name, Path: path, Size: info.Size()})
		return nil
	})
	return parts, err
}

// Dirs returns the directories in which agents of a run work or to which they will return, and, if
// a comment may continue main's conversation, the one where main ended. The run's own directory
// comes first.
func Dirs(run *state.Run) []string {
	dirs := []string{run.Dir}
	add := func(dir string) {
		if dir != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, e := range run.Ended {
		add(e.Dir)
	}
	for _, a := range run.Agents {
		add(a.Dir)
		for _, f := range a.Stack {
			add(f.Dir)
		}
	}
	if run.Last != nil {
		add(run.Last.Dir)
	}
	return dirs
}
