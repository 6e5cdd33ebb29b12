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

// Store gives access to the conversations of one agent CLI, which stores each one in a file of
// lines that is named after its id. It implements runner.Transcripts. The fields describe what
// differs between the CLIs; paths below Root use slashes.
type Store struct {
	Root          string                 // configuration folder of the CLI; only it may be a symbolic link, since the machine's owner created it
	FolderPattern string                 // glob pattern below Root of the folders that contain transcripts
	FilePattern   func(id string) string // glob pattern of the names of a conversation's transcripts
	// IsFileOf reports whether a file whose name matches belongs to the conversation; nil if the
	// name is enough.
	IsFileOf func(path, id string) bool
	// FoldersOf returns the folders below Root for conversations held in a directory; nil if
	// folders don't depend on the directory.
	FoldersOf func(dir string) []string
	// PathForResume returns the path below Root at which the CLI looks for a conversation that it
	// resumes in a directory. It also creates other files that the CLI needs for that.
	PathForResume func(id, dir string) (string, error)
	// IsResumable reports whether a line, which may be truncated, makes its file resumable: a CLI
	// can neither resume a conversation without a message nor start it again.
	IsResumable func(line []byte, truncated bool) bool
	// IDInLines returns the text by which lines refer to their conversation; nil if lines don't.
	IDInLines func(id string) string
	// AssignsIDs is set if the CLI chooses the ids of conversations itself, and finds a copy by its
	// file name.
	AssignsIDs    bool
	ReadUsage     func(path string, from int64) ([]state.Usage, error) // tokens in a transcript from a byte offset on
	MessageReader func(path string) MessageReader                      // reads the messages of a transcript
}

// cliID returns the id that the CLI uses for a conversation.
func (k Store) cliID(c runner.Conversation) string {
	if k.AssignsIDs && c.CLI != "" {
		return c.CLI
	}
	return c.ID
}

// Path returns the newest transcript of a conversation, and false if no such file exists. It looks
// in the folders of dirs first, in order, and then everywhere. dir is the directory in which the
// conversation was held, if known, else the first of dirs.
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

// Check returns an error if a file that the CLI would open as a transcript of the conversation is
// not a regular file.
func (k Store) Check(id string) error {
	if !IsUUID(id) {
		return nil // no transcript can have this name
	}
	return CheckRegularFiles(k.Root, k.FolderPattern+"/"+k.FilePattern(id))
}

// Prepare prepares the transcript of the conversation that an order resumes or branches; a resumed
// one is truncated to the length in the order. It returns the CLI's id of the conversation and the
// path of the transcript, which is "" if there is none: the CLI itself reports that. A conversation
// without a prompt, which a killed CLI may leave, is a failure.
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

// hasResumableLine reports whether a line that starts in the first length bytes makes the file
// resumable.
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

// notFound returns the error for a conversation without a transcript.
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

// Branch is like Copy, but takes the CLI's id in c.ID, and may replace an existing conversation.
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

// Place implements runner.Transcripts. A transcript that can't be resumed is skipped without an
// error.
func (k Store) Place(c runner.Conversation, from string) error {
	id := k.cliID(c)
	if err := k.placeFile(id, c.Dir, from); err != nil {
		return fmt.Errorf("place transcript of session %.80q: %w", id, err)
	}
	return nil
}

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

// InstallFile copies a file to where the CLI looks for the conversation when it resumes it in dir.
// The file must not be a symbolic link.
func (k Store) InstallFile(id, dir, from string) error {
	in, _, err := files.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return k.Install(id, dir, in)
}

// Install writes the content of in to where the CLI looks for the conversation when it resumes it
// in dir, replacing an existing file. The file appears complete or not at all. Symbolic links in
// place of the file or of folders are not followed.
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

// Clear implements runner.Transcripts. It also removes the folder beside the transcript that is
// named after the conversation, which has the transcripts of its subagents. Links and other special
// files are left alone.
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

// eachFolder opens each folder that may contain transcripts, and calls do with it. Symbolic links
// are skipped.
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
