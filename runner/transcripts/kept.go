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

// Store are the conversations that an agent CLI keeps, each in a file of lines that is named after its id. It implements
// runner.Transcripts. The fields say what differs from CLI to CLI; paths in Top have slashes.
type Store struct {
	Root          string                 // the CLI's own folder; it alone may be a link, as a matter of the machine's owner
	FolderPattern string                 // a pattern of the folders in Top in which the files are
	FilePattern   func(id string) string // a pattern of the names of a conversation's files there
	// IsFileOf reports whether a file of such a name is of the conversation; nil where the name says it.
	IsFileOf func(path, id string) bool
	// FoldersOf returns the folders in Top of the conversations that are held in a directory; nil where they do not depend on it.
	FoldersOf func(dir string) []string
	// PathForResume returns the path in Top at which the CLI finds a conversation that it resumes in a directory, and makes there
	// what else it needs for that.
	PathForResume func(id, dir string) (string, error)
	// IsResumable reports whether a line, of which perhaps only the beginning is there, makes a file one that can be resumed: a CLI
	// can neither resume a conversation in which nobody has said anything nor begin it again.
	IsResumable func(line []byte, truncated bool) bool
	// IDInLines is how a line of a file names its conversation; nil where none does.
	IDInLines func(id string) string
	// AssignsIDs says that the CLI chooses the ids of conversations, and calls a copy by its name.
	AssignsIDs    bool
	ReadUsage     func(path string, from int64) ([]state.Usage, error) // the tokens that a file tells from a byte on
	MessageReader func(path string) MessageReader                      // of the messages of a file
}

// id is what the CLI calls a conversation.
func (k Store) id(c runner.Conversation) string {
	if k.AssignsIDs && c.CLI != "" {
		return c.CLI
	}
	return c.ID
}

// Path returns the newest file of a conversation that was held in one of the directories, the most likely first, or else
// anywhere, and false when there is none; dir is the directory, or else the first one.
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

// Check returns an error if what the CLI would open as the file of a conversation is none.
func (k Store) Check(id string) error {
	if !IsUUID(id) {
		return nil // then there is none
	}
	return CheckRegularFiles(k.Root, k.FolderPattern+"/"+k.FilePattern(id))
}

// Prepare makes the file of the conversation that an order takes up ready: one that is resumed is cut back as the order says.
// It returns what the CLI calls the conversation, and its file; "" for none, of which the CLI itself says so. A conversation in
// which nobody has said anything, as a kill may leave it, can't be resumed.
func (k Store) Prepare(p runner.PromptOrder, dir string) (id, path string, _ *runner.Failure) {
	switch p.Session {
	case state.Resume:
		id = k.id(runner.Conversation{ID: p.SessionID, CLI: p.CLIID})
	case state.Branch:
		id = k.id(runner.Conversation{ID: p.From, CLI: p.CLIID})
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
		if holds, oops := k.holds(path, math.MaxInt64); oops == nil && !holds {
			err = fmt.Errorf("the transcript of %s holds no prompt", id)
		}
	}
	if err != nil {
		return "", "", &runner.Failure{Class: runner.Fatal, Message: fmt.Sprintf("session gone: %v", err)}
	}
	return id, path, nil
}

// holds reports whether one of the lines that begin in the first length bytes of a file makes that one that can be resumed.
func (k Store) holds(path string, length int64) (found bool, err error) {
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
	path, _, _ := k.Path(k.id(c), c.Dir)
	return Size(path)
}

// Usage implements runner.Transcripts.
func (k Store) Usage(c runner.Conversation, from int64) ([]state.Usage, bool) {
	path, _, _ := k.Path(k.id(c), c.Dir)
	size, ok := Size(path)
	if !ok || from < 0 || size-from > MaxRead {
		return nil, false
	}
	list, err := k.ReadUsage(path, from)
	return list, err == nil && len(list) > 0
}

// Find implements runner.Transcripts.
func (k Store) Find(c runner.Conversation, dirs []string) (runner.TranscriptFile, bool) {
	path, dir, ok := k.Path(k.id(c), dirs...)
	if !ok || len(dirs) == 0 {
		return runner.TranscriptFile{}, false
	}
	size, ok := Size(path)
	if holds, err := k.holds(path, size); err != nil || !holds || !ok {
		return runner.TranscriptFile{}, false
	}
	return runner.TranscriptFile{Path: path, Size: size, Dir: dir}, true
}

// Read implements runner.Transcripts.
func (k Store) Read(c runner.Conversation, from, to int64, each func(runner.Message) error) error {
	path, _, ok := k.Path(k.id(c), c.Dir)
	if !ok {
		return gone(k.id(c))
	}
	t := k.MessageReader(path)
	t.each = each
	return t.tell(path, from, to, nil)
}

// gone is the error of a conversation without a file.
func gone(id string) error {
	return fmt.Errorf("session %.80q has no transcript here: %w", id, fs.ErrNotExist)
}

// Copy implements runner.Transcripts.
func (k Store) Copy(c runner.Conversation, length int64, id, dir string) (cliID string, err error) {
	from := k.id(c)
	if _, _, ok := k.Path(id, dir); ok {
		err = fmt.Errorf("there is a session %s already", id)
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

// Branch is Copy of the conversation that the CLI calls c.ID, also to one that is there already.
func (k Store) Branch(c runner.Conversation, length int64, id, dir string) error {
	path, _, ok := k.Path(c.ID, c.Dir)
	if !ok {
		return gone(c.ID)
	}
	f, info, err := files.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	said, size, err := head(f, info.Size(), length)
	if err != nil {
		return err
	}
	if ok, err := k.holds(path, size); err != nil || !ok {
		return errors.Join(err, errors.New("nothing was said in it until then"))
	}
	if k.IDInLines != nil {
		said = ReplaceID(said, k.IDInLines(c.ID), k.IDInLines(id))
	}
	return k.Install(id, dir, said)
}

// Place implements runner.Transcripts. A conversation that could not be resumed is not put there, which is no error.
func (k Store) Place(c runner.Conversation, from string) error {
	id := k.id(c)
	if err := k.place(id, c.Dir, from); err != nil {
		return fmt.Errorf("put transcript of session %.80q in place: %w", id, err)
	}
	return nil
}

func (k Store) place(id, dir, from string) error {
	size, ok := Size(from)
	if !ok || !IsUUID(id) {
		return fmt.Errorf("want a regular file, and an id that is a UUID in lower case, not %s and %.80q", from, id)
	}
	if k.IsFileOf != nil && !k.IsFileOf(from, id) {
		return errors.New("it is the one of another session")
	}
	if holds, err := k.holds(from, size); err != nil || !holds {
		return err
	}
	return k.InstallFile(id, dir, from)
}

// InstallFile makes a copy of a file, which is not reached through a link, the one of a conversation in a directory.
func (k Store) InstallFile(id, dir, from string) error {
	in, _, err := files.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return k.Install(id, dir, in)
}

// Install makes what in brings the file of a conversation that is resumed in a directory, and replaces one that is there.
// It is complete or not there at all. Links in the place of the file or of folders are not followed.
func (k Store) Install(id, dir string, in io.Reader) error {
	if !IsUUID(id) {
		return fmt.Errorf("the id %.80q is no UUID in lower case", id)
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

// Clear implements runner.Transcripts. The folder of its name beside a file, in which agents are that the conversation has
// started, goes with it. What is neither a regular file nor a folder of its own is left alone.
func (k Store) Clear(c runner.Conversation, only *runner.Fingerprint) error {
	id, isOther := k.id(c), false
	if !IsUUID(id) {
		return errors.New("clear session: its id is no UUID in lower case")
	}
	err := k.each(func(folder *os.Root) error {
		names, err := fs.Glob(folder.FS(), k.FilePattern(id))
		for _, name := range names {
			if k.IsFileOf == nil || k.IsFileOf(filepath.Join(folder.Name(), name), id) {
				other, oops := Remove(folder, name, only)
				isOther, err = isOther || other, errors.Join(err, oops)
			}
		}
		return err
	})
	if err != nil || isOther {
		return err
	}
	return k.each(func(folder *os.Root) error {
		if info, err := folder.Lstat(id); err != nil || !info.IsDir() {
			return nil //nolint:nilerr // then there is none
		}
		return folder.RemoveAll(id)
	})
}

// each opens the folders of all conversations. Links among them are passed over.
func (k Store) each(do func(*os.Root) error) error {
	var err error
	for _, path := range Glob(k.Root, k.FolderPattern) {
		at, oops := filepath.Rel(k.Root, path)
		if oops != nil {
			return oops
		}
		if folder, oops := OpenDir(k.Root, strings.Split(filepath.ToSlash(at), "/")...); oops == nil {
			err = errors.Join(err, do(folder), folder.Close())
		}
	}
	return err
}
