package transcripts_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// TestOnlyRegularFilesAreTranscripts checks that a pipe, a link or a folder is not accepted as a
// transcript. A CLI that opened a pipe would wait forever.
func TestOnlyRegularFilesAreTranscripts(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, "a", name) }
	assert.NilError(t, errors.Join(os.Mkdir(filepath.Join(dir, "a"), 0o700), os.WriteFile(at("file.jsonl"), nil, 0o600),
		syscall.Mkfifo(at("pipe.jsonl"), 0o600), os.Symlink("file.jsonl", at("link.jsonl")), os.Mkdir(at("folder.jsonl"), 0o700)))
	for name, want := range map[string]string{"file": "", "missing": "", "pipe": "pipe.jsonl", "link": "link.jsonl", "folder": "folder.jsonl"} {
		err := transcripts.CheckRegularFiles(dir, "*/"+name+".jsonl")
		assert.Check(t, (want != "" || err == nil) && (want == "" || (err != nil && strings.Contains(err.Error(), want))), "%s: got %v, want %q named", name, err, want)
	}
}
