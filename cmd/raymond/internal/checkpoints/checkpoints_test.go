//go:build linux

package checkpoints

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// session is the session of the conversation in these tests.
const session = "11111111-2222-4333-8444-555555555555"

// lean returns options for a run without a job, and a list to which warnings are added.
func lean(t *testing.T) (Options, *[]string) {
	t.Helper()
	dir := t.TempDir()
	mask, _ := secrets.New(nil)
	var told []string
	return Options{
		Dir: dir, Temp: dir, Mask: mask, IsOpen: func() bool { return false }, Warn: func(text string) { told = append(told, text) },
		Origin: checkpoint.Manifest{
			RepositoryID: 1, Repository: "o/r", Workflow: ".github/workflows/w.yml", Key: "k", RunID: 1, RunAttempt: 1, Job: "j", Event: "push",
			Dirs: checkpoint.MachineDirs{Workspace: "/w", Temp: "/t", OS: "linux"}, Program: "test",
		},
	}, &told
}

// shotIn returns a snapshot of a run with its files in dir.
func shotIn(dir string) *Snapshot {
	return &Snapshot{
		manifest: checkpoint.Manifest{WorkflowID: "k-12345678", Status: state.Suspended, Seq: 1, Created: time.Now()},
		state:    []byte("{}"), dir: dir, dirs: []string{dir},
	}
}

// talk adds a conversation to a snapshot. Its size is given as size bytes, whatever the text.
func talk(t *testing.T, shot *Snapshot, text string, size int64) {
	t.Helper()
	path := filepath.Join(shot.dir, "t.jsonl")
	write(t, path, text)
	shot.transcripts = []checkpoint.Entry{{Name: checkpoint.Transcript{Backend: protocol.BackendCodex, Session: session}.Name(), Path: path, Size: size}}
	shot.manifest.Transcripts = []checkpoint.Transcript{{Session: session, Backend: protocol.BackendCodex, Dir: "/w"}}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
}

// unpack unpacks a checkpoint into a directory, and removes the archive.
func unpack(t *testing.T, w made) (checkpoint.Manifest, string) {
	t.Helper()
	defer w.remove()
	f, err := os.Create(filepath.Join(t.TempDir(), "c.zip"))
	assert.NilError(t, err)
	defer f.Close()
	_, err = io.Copy(f, io.NewSectionReader(w.archive, 0, w.Size))
	assert.NilError(t, err)
	dir := t.TempDir()
	m, _, err := checkpoint.Read(checkpoint.ReadRequest{File: f, Size: w.Size, Dir: dir})
	assert.NilError(t, err)
	return m, dir
}

// read returns the manifest of a checkpoint and the names of its files.
func read(t *testing.T, w made) (checkpoint.Manifest, []string) {
	t.Helper()
	m, _ := unpack(t, w)
	var names []string
	for _, f := range m.Files {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return m, names
}

// TestOnlyTheStateIsStoredIfPackingFails checks that the last snapshot is stored with only its
// state if the complete archive can't be written. Before the end of the run, this is an error, and
// the next state tries again.
func TestOnlyTheStateIsStoredIfPackingFails(t *testing.T) {
	t.Parallel()
	o, told := lean(t)
	s, shot := New(o), shotIn(o.Dir)
	talk(t, shot, "said", 4)
	log := filepath.Join(o.Dir, "events.jsonl")
	write(t, log, "short")
	shot.events = checkpoint.Entry{Name: "events.jsonl", Path: log, Size: 1000}
	if _, err := s.write(t.Context(), shot); err == nil {
		t.Error("beside the run: got no error, want one")
	}
	shot.Last = true
	w, err := s.write(t.Context(), shot)
	assert.NilError(t, err)
	m, names := read(t, w)
	assert.Check(t, is.DeepEqual(names, []string{"state.json"}), "stored")
	assert.Check(t, is.Len(m.Transcripts, 0), "stored")
	want := []checkpoint.Omission{{What: "transcripts", Existed: true, Why: checkpoint.NotPacked}}
	if !slices.Equal(m.Omissions, want) || !slices.Equal(s.LeftOut(), want) {
		t.Errorf("left out: got %v and %v, want the transcripts, because of the disk", m.Omissions, s.LeftOut())
	}
	if len(*told) != 1 || !strings.Contains((*told)[0], "only the state") || !slices.Equal(s.Notes(), *told) {
		t.Errorf("told: got %q and the notes %q, want that the state is stored alone", *told, s.Notes())
	}
	assert.Check(t, !w.sessions[session].Kept, "the conversation is taken for one that is stored")
}

// TestUnpackableWorkIsLeftOut checks that work that can't be packed at the end of a run is left out
// with a warning. Without git, each checkpoint of a run with prompts lacks the work; the warning
// about that comes before the prompts begin.
func TestUnpackableWorkIsLeftOut(t *testing.T) {
	repo := sitetest.Repository(t, "")
	write(t, filepath.Join(repo, "new.txt"), "work")
	git, err := exec.LookPath("git")
	assert.NilError(t, err)
	failing, none := t.TempDir(), t.TempDir()
	installtest.WriteProgram(t, filepath.Join(failing, "git"), "#!/bin/bash\nfor a; do [ \"$a\" = bundle ] && exit 1; done\nexec '"+git+"' \"$@\"\n")
	for name, tt := range map[string]struct {
		path           string
		last, prompted bool
		told           int
		why            string
	}{
		"git fails":              {failing, true, false, 1, checkpoint.NotPacked},
		"no git":                 {none, false, true, 0, checkpoint.NoGit},
		"no git, and no prompts": {none, true, false, 0, ""},
	} {
		t.Setenv("PATH", tt.path)
		o, told := lean(t)
		o.Git = &workspace.Git{Env: os.Environ()}
		s, shot := New(o), shotIn(o.Dir)
		shot.dirs, shot.Last, shot.hasPrompted = []string{repo}, tt.last, tt.prompted
		if _, err := s.write(t.Context(), shot); err != nil || len(*told) != tt.told || (len(s.Notes()) > 0) != (tt.why != "") {
			t.Errorf("%s: told: got %q and the notes %q (%v), want that the work is left out", name, *told, s.Notes(), err)
		}
		var want []checkpoint.Omission
		if tt.why != "" {
			want = []checkpoint.Omission{{What: "workspace", Existed: true, Why: tt.why}}
		}
		left := s.LeftOut()
		assert.Check(t, slices.Equal(left, want), "%s: left out: got %v, want %v", name, left, want)
	}
}

// TestPromptsOutsideOfGitAreReported checks that files changed by prompts outside of git cause a
// note, because they are not stored.
func TestPromptsOutsideOfGitAreReported(t *testing.T) {
	for _, hasPrompted := range []bool{true, false} {
		o, _ := lean(t)
		o.Git = &workspace.Git{Env: os.Environ()}
		s, shot := New(o), shotIn(o.Dir)
		shot.dirs, shot.hasPrompted = []string{t.TempDir()}, hasPrompted
		_, err := s.write(t.Context(), shot)
		assert.NilError(t, err)
		assert.Check(t, is.Equal(strings.Contains(strings.Join(s.Notes(), ""), shot.dirs[0]+" is not in a git repository"), hasPrompted))
	}
}

// TestUnsavedWorkHasAReason checks that each reason why packing failed is recognized and has a text
// for users.
func TestUnsavedWorkHasAReason(t *testing.T) {
	for want, err := range map[string]error{
		checkpoint.DiskFull:   errors.New("git fast-import: cannot write: No space left on device"),
		checkpoint.NoObjects:  fmt.Errorf("save: %w: dial: permission denied", workspace.ErrNoObjects),
		checkpoint.TooSlow:    fmt.Errorf("save: git status %w 5m", workspace.ErrSlow),
		checkpoint.NoMemory:   errors.New("git bundle: Out of memory, malloc failed (tried to allocate 9 bytes)"),
		checkpoint.NotAllowed: fmt.Errorf("open: %w", fs.ErrPermission),
		checkpoint.NotPacked:  errors.New("git status: index file corrupt"),
	} {
		assert.Check(t, is.Equal(causeOf(err), want), err)
		m := checkpoint.Manifest{Omissions: []checkpoint.Omission{{Existed: true, Why: want}}}
		assert.Check(t, !slices.Contains(m.OmissionReasons(), want), "%q has no text for people", want)
	}
}

// TestPublicCheckpointHasNoConversations checks that a checkpoint that anyone can read contains no
// conversations but a note about this, and that other checkpoints contain them. At the end of a
// run, the conversations may be removed from the machine in both cases.
func TestPublicCheckpointHasNoConversations(t *testing.T) {
	t.Parallel()
	for _, isOpen := range []bool{true, false} {
		o, told := lean(t)
		o.IsOpen = func() bool { return isOpen }
		s, shot := New(o), shotIn(o.Dir)
		talk(t, shot, "said\n", 5)
		shot.Last = true
		w, err := s.write(t.Context(), shot)
		assert.NilError(t, err)
		m, names := read(t, w)
		want := []string{"state.json"}
		if !isOpen {
			want = append(want, checkpoint.Transcript{Backend: protocol.BackendCodex, Session: session}.Name())
		}
		assert.Check(t, is.DeepEqual(names, want), "open %v", isOpen)
		assert.Check(t, is.Equal(isOpen, len(m.Transcripts) == 0), "open %v", isOpen)
		if isOpen != (len(s.Notes()) == 1) || isOpen != (len(s.LeftOut()) == 1) || len(*told) > 0 {
			t.Errorf("open %v: got the notes %q, left out %v, warnings %q; want a note on transcripts if it is open", isOpen, s.Notes(), s.LeftOut(), *told)
		}
		assert.Check(t, w.sessions[session].Kept, "open %v: got %v, want one that may be removed", isOpen, w.sessions)
	}
}

// TestOnlyRegularLogsAreStored checks that logs are stored, but no links and no files that are too
// large.
func TestOnlyRegularLogsAreStored(t *testing.T) {
	t.Parallel()
	shot := shotIn(t.TempDir())
	write(t, filepath.Join(shot.dir, "logs", "main", "1.log"), "log")
	assert.NilError(t, os.Symlink("/etc/passwd", filepath.Join(shot.dir, "logs", "link")))
	assert.NilError(t, os.WriteFile(filepath.Join(shot.dir, "logs", "huge"), nil, 0o600))
	assert.NilError(t, os.Truncate(filepath.Join(shot.dir, "logs", "huge"), maxLogs+1))
	parts, err := shot.logs()
	assert.NilError(t, err)
	got := map[string]int64{}
	for _, p := range parts {
		got[p.Name] = p.Size
	}
	assert.Check(t, is.DeepEqual(got, (map[string]int64{"logs/main/1.log": 3})))
}

// TestSnapshotIgnoresLaterData checks that a snapshot contains no data that is added to files
// later.
func TestSnapshotIgnoresLaterData(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(dir, "events.jsonl")
	write(t, log, "one\n")
	run := &state.Run{WorkflowID: "k-12345678", Dir: "/run", Agents: []*state.Agent{
		{ID: "main", Dir: "/a", Stack: []state.Frame{{Dir: "/b"}, {Dir: "/run"}, {}}}, {ID: "main_w1", Dir: "/a"},
	}}
	shot, err := Take(run, dir, nil, nil)
	assert.NilError(t, err)
	write(t, log, "one\ntwo\n")
	assert.Check(t, shot.events.Size == 4 && !shot.Last, "got %d bytes of events, last %v; want 4, and not the last", shot.events.Size, shot.Last)
	assert.Check(t, is.DeepEqual(shot.dirs, []string{"/run", "/a", "/b"}), "directories")
}

// keeping is an agent CLI with the transcripts of conversations, by the CLI's own ids.
type keeping struct {
	runner.AgentCLI
	paths map[string]string
}

func (k keeping) Find(c runner.Conversation, dirs []string) (runner.TranscriptFile, bool) {
	path, ok := k.paths[c.CLI]
	return runner.TranscriptFile{Path: path, Size: 4, Dir: dirs[0]}, ok
}

// TestSnapshotHasConversationsOfEachCLI checks that a snapshot finds the conversations of each
// agent CLI by the CLI's own ids, and skips unknown conversations.
func TestSnapshotHasConversationsOfEachCLI(t *testing.T) {
	t.Parallel()
	const other, lost = "0a0b0c0d-0000-4000-8000-00000000000b", "0a0b0c0d-0000-4000-8000-00000000000c"
	run := &state.Run{WorkflowID: "k-12345678", Dir: "/run", Agents: []*state.Agent{
		{ID: "main", Session: &state.Session{ID: session}, Stack: []state.Frame{{Session: &state.Session{ID: lost, Backend: protocol.BackendGemini}}}},
		{ID: "main_w1", Dir: "/a", Session: &state.Session{ID: other, Backend: protocol.BackendCodex, CLIID: "thread"}},
	}}
	shot, err := Take(run, t.TempDir(), map[string]runner.AgentCLI{
		protocol.BackendClaude: keeping{paths: map[string]string{"": "/c"}}, protocol.BackendCodex: keeping{paths: map[string]string{"thread": "/x"}},
	}, nil)
	assert.NilError(t, err)
	want := []checkpoint.Transcript{{Session: session, Backend: "claude", Dir: "/run"}, {Session: other, Backend: "codex", CLIID: "thread", Dir: "/a"}}
	assert.Check(t, is.DeepEqual(shot.manifest.Transcripts, want), "transcripts")
	parts := []checkpoint.Entry{
		{Name: "transcripts/claude/" + session + ".jsonl", Path: "/c", Size: 4}, {Name: "transcripts/codex/" + other + ".jsonl", Path: "/x", Size: 4},
	}
	assert.Check(t, is.DeepEqual(shot.transcripts, parts), "parts")
}

// TestClearRemovesIncompleteFiles checks that Clear removes only incomplete files.
func TestClearRemovesIncompleteFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{
		"checkpoint-1/state.json", "checkpoint-2.zip", "workspace-3/repo-0.bundle", "raymond-git-4/x", "k-12345678.json.tmp",
		"k-12345678.json", "k-12345678/owed.json.tmp", "k-12345678/logs/x.tmp", "step.note", "step.note.tmp", "k-12345678.journal.tmp",
	} {
		write(t, filepath.Join(dir, name), "x")
	}
	assert.NilError(t, Clear(dir))
	entries, err := os.ReadDir(dir)
	assert.NilError(t, err)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	assert.Check(t, is.DeepEqual(left, []string{"k-12345678", "k-12345678.json", "step.note"}))
	if entries, err = os.ReadDir(filepath.Join(dir, "k-12345678")); err != nil || len(entries) != 1 || entries[0].Name() != "logs" {
		t.Errorf("got %v left of the run (%v), want its logs", entries, err)
	}
}
