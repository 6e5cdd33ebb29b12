package checkpoints

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// maxNote is the size in bytes of the longest note that ReadNote reads.
const maxNote = 64 << 20

// WriteNote keeps a value in a file, completely or not at all: until it returns nil, the
// file has what it had before. It makes the folders on the way, for their owner
// only, and uses the file's name with ".tmp" appended. It follows no link and waits
// for nothing: agents may have put a pipe, a link or a huge file there. One goroutine at a time may write a file.
func WriteNote(file string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	temp := file + ".tmp"
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.RemoveAll(temp)); err != nil {
		return err
	}
	// The file must be a new one: writing to a pipe that an agent has put there would
	// never end.
	if err := files.WriteNew(temp, data, 0o600); err != nil {
		return err
	}
	return files.Rename(temp, file)
}

// ReadNote reads what WriteNote has kept. An error for which errors.Is(err, fs.ErrNotExist)
// holds says that there is no such file; any other one, that it is no note: not a
// regular file, more than 64 MiB, or JSON that does not fit the value.
func ReadNote(file string, value any) error {
	data, _, err := files.Read(file, maxNote)
	if err != nil {
		return fmt.Errorf("read note: %w", err)
	}
	if err := json.Unmarshal(data, value); err != nil {
		return fmt.Errorf("read note: %w", err)
	}
	return nil
}
