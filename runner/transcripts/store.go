package transcripts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Store reads and changes the conversations of one agent CLI. It is for CLIs that store each
// conversation in a file of lines, named after the conversation's id. It implements
// runner.Transcripts. The fields describe the differences between the CLIs. Paths below Root use
// slashes.
type Store struct {
	// Root is the CLI's configuration folder. It may be a symbolic link, since the owner of the
	// machine created it. No other link is followed.
	Root string
	// FolderPattern is a glob pattern, relative to Root, for the folders that contain transcripts.
	FolderPattern string
	// FilePattern returns a glob pattern for the names of a conversation's transcripts.
	FilePattern func(id string) string
	// IsFileOf reports whether a file with a matching name belongs to the conversation. It is nil
	// if a matching name is sufficient.
	IsFileOf func(path, id string) bool
	// FoldersOf returns the folders, relative to Root, for conversations that were held in the
	// directory dir. It is nil if the folder of a conversation doesn't depend on the directory.
	FoldersOf func(dir string) []string
	// PathForResume returns the path, relative to Root, where the CLI looks for a conversation when
	// it resumes it in a directory. It also creates other files that the CLI needs for the resume.
	PathForResume func(id, dir string) (string, error)
	// IsResumable reports whether the CLI can resume a conversation that contains the line, which
	// may be truncated. A file must contain at least one line for which it returns true. Otherwise,
	// the CLI can neither resume the conversation nor start it again with the same id.
	IsResumable func(line []byte, truncated bool) bool
	// IDInLines returns the text by which lines refer to the conversation with an id. It is nil if
	// lines don't do that.
	IDInLines func(id string) string
	// AssignsIDs is set if the CLI itself chooses the ids of conversations. Such a CLI finds a copied
	// conversation by the name of its file.
	AssignsIDs bool
	// ReadUsage returns the tokens in a transcript from a byte offset on.
	ReadUsage func(path string, from int64) ([]state.Usage, error)
	// MessageReader returns a reader for the messages of the transcript at path.
	MessageReader func(path string) MessageReader
}

// cliID returns the CLI's id of a conversation, which may differ from the id that the run uses.
func (k Store) cliID(c runner.Conversation) string {
	if k.AssignsIDs && c.CLI != "" {
		return c.CLI
	}
	return c.ID
}

// Path returns the newest transcript of a conversation. ok is false if no transcript exists. Path
// first looks in the folders for each directory in dirs, and then in all folders. dir is the
// directory in which the conversation was held. If that is unknown, dir is the first of dirs.
func (k Store) Path(id string, dirs ...string) (path, dir string, ok bool) {
	if !IsUUID(id) {
		return "", "", false
	}
	isIts := func(path string) bool { return k.IsFileOf == nil || k.IsFileOf(path, id) }
	for _, d := range dirs {
		if k.FoldersOf == nil {
			break
		}
		for _, folder := range k.FoldersOf(d) {
			if path, ok := Newest(k.Root, folder+"/"+k.FilePattern(id), isIts); ok {
				return path, d, true
			}
		}
	}
	if len(dirs) > 0 {
		dir = dirs[0]
	}
	path, ok = Newest(k.Root, k.FolderPattern+"/"+k.FilePattern(id), isIts)
	return path, dir, ok
}

// Check returns an error if the CLI would open anything other than a regular file as a transcript
// of the conversation.
func (k Store) Check(id string) error {
	if !IsUUID(id) {
		return nil // transcripts are named after valid ids only
	}
	return CheckRegularFiles(k.Root, k.FolderPattern+"/"+k.FilePattern(id))
}

// Prepare prepares the transcript of the conversation that an order resumes or branches. If the
// order resumes it, Prepare truncates the transcript to the length in the order. It returns the
// CLI's id of the conversation, and the path of the transcript. The path is empty if no transcript
// exists; the CLI reports that. For any other order, Prepare returns empty strings. It returns a
// failure if the transcript contains no prompt, for example because the CLI was killed.
func (k Store) Prepare(p runner.PromptOrder, dir string) (id, path string, _ *runner.Failure) {
	switch p.Session {
	case state.Resume:
		id = k.cliID(runner.Conversation{ID: p.SessionID, CLI: p.CLIID})
	case state.Branch:
		id = k.cliID(runner.Conversation{ID: p.From, CLI: p.CLIID})
	default:
		return "", "", nil
	}
	err := k.Check(id)
	if err == nil {
		path, _, _ = k.Path(id, dir)
	}
	if path != "" && p.Session == state.Resume && p.Cut != nil {
		err = TruncateFile(path, *p.Cut)
	}
	if path != "" && err == nil {
		if holds, readErr := k.hasResumableLine(path, math.MaxInt64); readErr == nil && !holds {
			err = fmt.Errorf("the transcript of %s contains no prompt", id)
		}
	}
	if err != nil {
		return "", "", &runner.Failure{Class: runner.Fatal, Message: fmt.Sprintf("session gone: %v", err)}
	}
	return id, path, nil
}

// hasResumableLine reports whether the first length bytes of a transcript contain the start of a
// line that makes the conversation resumable.
func (k Store) hasResumableLine(path string, length int64) (found bool, err error) {
	err = Read(path, 0, length, func(_ int64, line []byte, truncated bool) error {
		if found = k.IsResumable(line, truncated); found {
			return ErrStop
		}
		return nil
	})
	return found, err
}

// Length implements runner.Transcripts.
func (k Store) Length(c runner.Conversation) (int64, bool) {
	path, _, _ := k.Path(k.cliID(c), c.Dir)
	return Size(path)
}

// Usage implements runner.Transcripts.
func (k Store) Usage(c runner.Conversation, from int64) ([]state.Usage, bool) {
	path, _, _ := k.Path(k.cliID(c), c.Dir)
	size, ok := Size(path)
	if !ok || from < 0 || size-from > MaxRead {
		return nil, false
	}
	list, err := k.ReadUsage(path, from)
	return list, err == nil && len(list) > 0
}

// Find implements runner.Transcripts.
func (k Store) Find(c runner.Conversation, dirs []string) (runner.TranscriptFile, bool) {
	path, dir, ok := k.Path(k.cliID(c), dirs...)
	if !ok || len(dirs) == 0 {
		return runner.TranscriptFile{}, false
	}
	size, ok := Size(path)
	if holds, err := k.hasResumableLine(path, size); err != nil || !holds || !ok {
		return runner.TranscriptFile{}, false
	}
	return runner.TranscriptFile{Path: path, Size: size, Dir: dir}, true
}

// Read implements runner.Transcripts.
func (k Store) Read(c runner.Conversation, from, to int64, each func(runner.Message) error) error {
	path, _, ok := k.Path(k.cliID(c), c.Dir)
	if !ok {
		return notFound(k.cliID(c))
	}
	t := k.MessageReader(path)
	t.each = each
	return t.readTranscript(path, from, to, nil)
}

// notFound returns the error for a conversation without a transcript on this machine.
func notFound(id string) error {
	return fmt.Errorf("session %.80q has no transcript here: %w", id, fs.ErrNotExist)
}

// Copy implements runner.Transcripts.
func (k Store) Copy(c runner.Conversation, length int64, id, dir string) (cliID string, err error) {
	from := k.cliID(c)
	if _, _, ok := k.Path(id, dir); ok {
		err = fmt.Errorf("session %s already exists", id)
	} else {
		err = k.Branch(runner.Conversation{ID: from, Dir: c.Dir}, length, id, dir)
	}
	if err != nil {
		return "", fmt.Errorf("copy session %.80q: %w", from, err)
	}
	if k.AssignsIDs {
		cliID = id
	}
	return cliID, nil
}

// Branch is like Copy, except that c.ID is the CLI's own id, and that an existing conversation with
// the new id is replaced.
func (k Store) Branch(c runner.Conversation, length int64, id, dir string) error {
	path, _, ok := k.Path(c.ID, c.Dir)
	if !ok {
		return notFound(c.ID)
	}
	f, info, err := files.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	content, size, err := completeLines(f, info.Size(), length)
	if err != nil {
		return err
	}
	if ok, err := k.hasResumableLine(path, size); err != nil || !ok {
		return errors.Join(err, errors.New("it contains no prompt up to that point"))
	}
	if k.IDInLines != nil {
		content = ReplaceID(content, k.IDInLines(c.ID), k.IDInLines(id))
	}
	return k.Install(id, dir, content)
}

// Place implements runner.Transcripts. It does nothing, and returns no error, if the transcript
// can't be resumed.
func (k Store) Place(c runner.Conversation, from string) error {
	id := k.cliID(c)
	if err := k.placeFile(id, c.Dir, from); err != nil {
		return fmt.Errorf("place transcript of session %.80q: %w", id, err)
	}
	return nil
}

// placeFile installs the transcript at from, after checking that it belongs to the conversation.
func (k Store) placeFile(id, dir, from string) error {
	size, ok := Size(from)
	if !ok || !IsUUID(id) {
		return fmt.Errorf("%s is not a regular file, or the id %.80q is not a lowercase UUID", from, id)
	}
	if k.IsFileOf != nil && !k.IsFileOf(from, id) {
		return errors.New("it is the transcript of another session")
	}
	if holds, err := k.hasResumableLine(from, size); err != nil || !holds {
		return err
	}
	return k.InstallFile(id, dir, from)
}

// InstallFile copies the file at the path from to the path at which the CLI looks for a conversation
// that it resumes in the directory dir. It returns an error if the file is a symbolic link.
func (k Store) InstallFile(id, dir, from string) error {
	in, _, err := files.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return k.Install(id, dir, in)
}

// Install writes the content of in to the path at which the CLI looks for a conversation that it
// resumes in the directory dir. It replaces an existing file atomically. It does not follow symbolic
// links in place of the file or its folders.
func (k Store) Install(id, dir string, in io.Reader) error {
	if !IsUUID(id) {
		return fmt.Errorf("the id %.80q is not a lowercase UUID", id)
	}
	path, err := k.PathForResume(id, dir)
	if err != nil {
		return err
	}
	names := strings.Split(path, "/")
	last := len(names) - 1
	folder, err := OpenOrCreateDir(k.Root, names[:last]...)
	if err != nil {
		return err
	}
	defer folder.Close()
	return Install(folder, names[last], in)
}

// Clear implements runner.Transcripts. Next to a transcript there may be a folder with the
// conversation's id as its name, which contains the transcripts of subagents. Clear removes that
// folder too. It does not remove links and other special files.
func (k Store) Clear(c runner.Conversation, only *runner.Fingerprint) error {
	id, isOther := k.cliID(c), false
	if !IsUUID(id) {
		return errors.New("clear session: its id is not a lowercase UUID")
	}
	err := k.eachFolder(func(folder *os.Root) error {
		names, err := fs.Glob(folder.FS(), k.FilePattern(id))
		for _, name := range names {
			if k.IsFileOf == nil || k.IsFileOf(filepath.Join(folder.Name(), name), id) {
				other, removeErr := Remove(folder, name, only)
				isOther, err = isOther || other, errors.Join(err, removeErr)
			}
		}
		return err
	})
	if err != nil || isOther {
		return err
	}
	return k.eachFolder(func(folder *os.Root) error {
		if info, err := folder.Lstat(id); err != nil || !info.IsDir() {
			return nil //nolint:nilerr // without the folder there is nothing to remove
		}
		return folder.RemoveAll(id)
	})
}

// eachFolder opens each folder that may contain transcripts, and calls the function do with it. It
// skips symbolic links.
func (k Store) eachFolder(do func(*os.Root) error) error {
	var err error
	for _, path := range Glob(k.Root, k.FolderPattern) {
		at, pathErr := filepath.Rel(k.Root, path)
		if pathErr != nil {
			return pathErr
		}
		if folder, pathErr := OpenDir(k.Root, strings.Split(filepath.ToSlash(at), "/")...); pathErr == nil {
			err = errors.Join(err, do(folder), folder.Close())
		}
	}
	return err
}
