// Package transcript finds, reads, moves and removes the files in which Claude
// Code keeps its conversations, one file of JSON lines a session.
//
// It knows where the CLI puts the files and what their lines say of tokens and
// costs. It knows nothing of invocations or runs.
package transcript

import (
	"path/filepath"
	"strconv"
	"unicode/utf16"

	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// Folder is where a CLI with the environment Env keeps its transcripts. It
// may be used by any number of goroutines.
type Folder struct{ Env []string }

// Length returns the size in bytes of the transcript of a session that began in dir, and
// false when there is none.
func (d Folder) Length(session, dir string) (int64, bool) {
	path, ok := d.Path(session, dir)
	if !ok {
		return 0, false
	}
	return transcripts.Size(path)
}

// Path returns the transcript of a session that began in dir, and false when
// there is none. When it is not where the CLI puts it, because dir is another
// working copy of a repository or the home folder was restored, the newest file
// of that name is returned.
func (d Folder) Path(session, dir string) (string, bool) {
	if !state.ValidSession(session) {
		return "", false
	}
	s, ok := d.find(session, []string{dir})
	return s.Path, ok
}

// Check returns an error if what the CLI would open as the transcript of a session is none.
func (d Folder) Check(session string) error {
	projects, err := d.Projects()
	if err != nil || !state.ValidSession(session) {
		return nil //nolint:nilerr // then there is none
	}
	return transcripts.OnlyFiles(projects, "*/"+session+".jsonl")
}

// Config returns the CLI's own folder, which may not be there yet.
func (d Folder) Config() (string, error) {
	if dir := program.Variable(d.Env, "CLAUDE_CONFIG_DIR"); dir != "" {
		return dir, nil
	}
	home, err := program.Home(d.Env)
	return filepath.Join(home, ".claude"), err
}

// Projects returns the folder with the transcripts of all directories, which may not be there yet.
func (d Folder) Projects() (string, error) {
	config, err := d.Config()
	return filepath.Join(config, "projects"), err
}

// slugSize is how many UTF-16 units of a path the CLI puts into a folder's name
// before it resorts to a hash.
const slugSize = 200

// slug is the CLI's name for the folder of the sessions of a directory.
func slug(dir string) string {
	units := utf16.Encode([]rune(dir))
	name := make([]byte, len(units))
	var hash int32
	for i, u := range units {
		hash = hash*31 + int32(u)
		name[i] = '-'
		if isAlphanumeric(u) {
			name[i] = byte(u)
		}
	}
	if len(name) <= slugSize {
		return string(name)
	}
	magnitude := int64(hash)
	if magnitude < 0 {
		magnitude = -magnitude
	}
	return string(name[:slugSize]) + "-" + strconv.FormatInt(magnitude, 36)
}

func isAlphanumeric(u uint16) bool {
	return '0' <= u && u <= '9' || 'a' <= u && u <= 'z' || 'A' <= u && u <= 'Z'
}
