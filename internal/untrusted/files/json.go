package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// maxJSON is the size in bytes of the largest file that ReadJSON reads.
const maxJSON = 64 << 20

// WriteJSON saves a value in a file, completely or not at all: until it returns nil, the file has
// its old content. It creates missing parent directories, accessible to their owner only, and
// writes to the file's name with ".tmp" appended first. Agents may have put a pipe, a link or a
// huge file there: it follows no links and never blocks. Only one goroutine at a time may write a
// file.
func WriteJSON(file string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	temp := file + ".tmp"
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.RemoveAll(temp)); err != nil {
		return err
	}
	// The file must be new: writing to a pipe that an agent has put there would never end.
	if err := WriteNew(temp, data, 0o600); err != nil {
		return err
	}
	return Rename(temp, file)
}

// ReadJSON reads a value that WriteJSON has saved. An error for which errors.Is(err,
// fs.ErrNotExist) is true means that the file does not exist. Any other error means that it is not
// a valid file of WriteJSON: it is not a regular file, is larger than 64 MiB, or contains JSON that does not fit
// the value.
func ReadJSON(file string, value any) error {
	data, _, err := Read(file, maxJSON)
	if err != nil {
		return fmt.Errorf("read note: %w", err)
	}
	if err := json.Unmarshal(data, value); err != nil {
		return fmt.Errorf("read note: %w", err)
	}
	return nil
}
