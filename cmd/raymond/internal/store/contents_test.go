//go:build linux

package store

import (
	"crypto/sha256"
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
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// sessionID is the session of the conversation in these tests.
const sessionID = "11111111-2222-4333-8444-555555555555"

// fakeLog is a Log that records what is reported.
type fakeLog struct {
	warnings, notices, notes, losses []string
	mask                             *secrets.Set
}

func (l *fakeLog) Warn(text string)                { l.warnings = append(l.warnings, text) }
func (l *fakeLog) Notice(text string)              { l.notices = append(l.notices, text) }
func (l *fakeLog) Note(sentences ...string)        { l.notes = append(l.notes, sentences...) }
func (l *fakeLog) Say(text string)                 { l.notices = append(l.notices, text) }
func (l *fakeLog) ReportLosses(sentences []string) { l.losses = append(l.losses, sentences...) }
func (l *fakeLog) Mask() *secrets.Set              { return l.mask }

// fakeIntegrity is an IntegrityLog that keeps the recorded contents of files in memory.
type fakeIntegrity map[string][]byte

func (f fakeIntegrity) Replace(path string, data []byte) error {
	f[path] = slices.Clone(data)
	return nil
}

func (f fakeIntegrity) Append(path string, data []byte) error {
	f[path] = append(f[path], data...)
	return nil
}

func (f fakeIntegrity) Done(string) error { return nil }

func (f fakeIntegrity) Adopt(path string) (err error) {
	f[path], err = os.ReadFile(path)
	return err
}

func (f fakeIntegrity) Place(from, to string) error {
	return errors.Join(moveIfThere(from, to), f.Adopt(to))
}

func (f fakeIntegrity) Note(file string, value any) error { return files.WriteJSON(file, value) }

func (f fakeIntegrity) Content(file string) (size int64, sum [sha256.Size]byte, ok bool) {
	data, ok := f[file]
	return int64(len(data)), sha256.Sum256(data), ok
}

// testWriter returns a writer for a run without a job, with its files in a temporary directory, and
// the log of the writer.
func testWriter(t *testing.T, to shelf) (*writer, *fakeLog) {
	t.Helper()
	mask, _ := secrets.New(nil)
	log := &fakeLog{mask: mask}
	c := &Config{Dir: t.TempDir(), Log: log, Integrity: fakeIntegrity{}, IsPublic: func() bool { return false }}
	return newWriter(c, origin, c.Dir, "", to, chain{}), log
}

// origin has the fields of a manifest that the checkpoints of these tests share.
var origin = checkpoint.Manifest{
	RepositoryID: 1, Repository: "o/r", Workflow: ".github/workflows/w.yml", Key: "k", RunID: 1, RunAttempt: 1, Job: "j", Event: "push",
	Dirs: checkpoint.MachineDirs{Workspace: "/w", Temp: "/t", OS: "linux"}, Program: "test",
}

// testSnapshot returns a snapshot of a run with its files in dir.
func testSnapshot(dir string) *snapshot {
	m := origin
	m.WorkflowID, m.Status, m.Seq, m.Created = "k-12345678", state.Suspended, 1, time.Now()
	return &snapshot{manifest: m, state: []byte("{}"), dir: dir, dirs: []string{dir}}
}

// addConversation adds a conversation to a snapshot, with a size that may differ from the text's.
func addConversation(t *testing.T, shot *snapshot, text string, size int64) {
	t.Helper()
	path := filepath.Join(shot.dir, "t.jsonl")
	write(t, path, text)
	of := checkpoint.Transcript{Session: sessionID, Backend: protocol.BackendCodex, Dir: "/w"}
	shot.add(of, checkpoint.Entry{Name: of.Name(), Path: path, Size: size})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
}

// unpack unpacks a checkpoint into a directory, and removes the archive.
func unpack(t *testing.T, w built) (checkpoint.Manifest, string) {
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
func read(t *testing.T, w built) (checkpoint.Manifest, []string) {
	t.Helper()
	m, _ := unpack(t, w)
	var names []string
	for _, f := range m.Files {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return m, names
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
		path                string
		isLast, hasPrompted bool
		warnings            int
		why                 string
	}{
		"git fails":              {failing, true, false, 1, checkpoint.NotPacked},
		"no git":                 {none, false, true, 0, checkpoint.NoGit},
		"no git, and no prompts": {none, true, false, 0, ""},
	} {
		t.Setenv("PATH", tt.path)
		w, log := testWriter(t, nil)
		w.packer.tree = &Worktree{Git: &workspace.Git{Env: os.Environ()}}
		shot := testSnapshot(w.dir)
		shot.dirs, shot.isLast, shot.hasPrompted = []string{repo}, tt.isLast, tt.hasPrompted
		if _, err := w.build(t.Context(), shot); err != nil || len(log.warnings) != tt.warnings || (len(w.last.notes) > 0) != (tt.why != "") {
			t.Errorf("%s: got the warnings %q and the notes %q (%v), want that the work is left out", name, log.warnings, w.last.notes, err)
		}
		var want []checkpoint.Omission
		if tt.why != "" {
			want = []checkpoint.Omission{{What: "workspace", Existed: true, Why: tt.why}}
		}
		assert.Check(t, slices.Equal(w.omissions(), want), "%s: got %v, want %v", name, w.omissions(), want)
	}
}

// TestPromptsOutsideOfGitAreReported checks that files changed by prompts outside of git cause a
// note, because they are not stored.
func TestPromptsOutsideOfGitAreReported(t *testing.T) {
	for _, hasPrompted := range []bool{true, false} {
		w, _ := testWriter(t, nil)
		w.packer.tree = &Worktree{Git: &workspace.Git{Env: os.Environ()}}
		shot := testSnapshot(w.dir)
		shot.dirs, shot.hasPrompted = []string{t.TempDir()}, hasPrompted
		_, err := w.build(t.Context(), shot)
		assert.NilError(t, err)
		assert.Check(t, is.Equal(strings.Contains(strings.Join(w.last.notes, ""), shot.dirs[0]+" is not in a git repository"), hasPrompted))
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
		assert.Check(t, !slices.Contains(m.OmissionReasons(), want), "%q has no text for users", want)
	}
}

// TestOnlyRegularLogsAreStored checks that logs are stored, but no links and no files that are too
// large.
func TestOnlyRegularLogsAreStored(t *testing.T) {
	t.Parallel()
	shot := testSnapshot(t.TempDir())
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
	shot, err := takeSnapshot(run, origin, dir, nil, fakeIntegrity{})
	assert.NilError(t, err)
	write(t, log, "one\ntwo\n")
	assert.Check(t, shot.events.Size == 4 && !shot.isLast, "got %d bytes of events, last %v; want 4, and not the last", shot.events.Size, shot.isLast)
	assert.Check(t, is.DeepEqual(shot.dirs, []string{"/run", "/a", "/b"}), "directories")
}

// fakeCLI is an agent CLI with the transcripts of conversations, by the CLI's own ids.
type fakeCLI struct {
	runner.AgentCLI
	paths map[string]string
}

func (k fakeCLI) Find(c runner.Conversation, dirs []string) (runner.TranscriptFile, bool) {
	path, ok := k.paths[c.CLI]
	return runner.TranscriptFile{Path: path, Size: 4, Dir: dirs[0]}, ok
}

// TestSnapshotHasConversationsOfEachCLI checks that a snapshot finds the conversations of each
// agent CLI by the CLI's own ids, and skips unknown conversations.
func TestSnapshotHasConversationsOfEachCLI(t *testing.T) {
	t.Parallel()
	const other, lost = "0a0b0c0d-0000-4000-8000-00000000000b", "0a0b0c0d-0000-4000-8000-00000000000c"
	run := &state.Run{WorkflowID: "k-12345678", Dir: "/run", Agents: []*state.Agent{
		{ID: "main", Session: &state.Session{ID: sessionID}, Stack: []state.Frame{{Session: &state.Session{ID: lost, Backend: protocol.BackendGemini}}}},
		{ID: "main_w1", Dir: "/a", Session: &state.Session{ID: other, Backend: protocol.BackendCodex, CLIID: "thread"}},
	}}
	shot, err := takeSnapshot(run, origin, t.TempDir(), map[string]runner.AgentCLI{
		protocol.BackendClaude: fakeCLI{paths: map[string]string{"": "/c"}}, protocol.BackendCodex: fakeCLI{paths: map[string]string{"thread": "/x"}},
	}, fakeIntegrity{})
	assert.NilError(t, err)
	want := []checkpoint.Transcript{{Session: sessionID, Backend: "claude", Dir: "/run"}, {Session: other, Backend: "codex", CLIID: "thread", Dir: "/a"}}
	assert.Check(t, is.DeepEqual(shot.manifest.Transcripts, want), "transcripts")
	parts := []checkpoint.Entry{
		{Name: "transcripts/claude/" + sessionID + ".jsonl", Path: "/c", Size: 4}, {Name: "transcripts/codex/" + other + ".jsonl", Path: "/x", Size: 4},
	}
	assert.Check(t, is.DeepEqual(shot.transcripts, parts), "parts")
}
