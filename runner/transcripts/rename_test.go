package transcripts

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"gotest.tools/v3/assert"
)

const (
	talked = "0a0b0c0d-0000-4000-8000-00000000000a"
	other  = "0a0b0c0d-0000-4000-8000-00000000000b"
)

// TestRenamed: an id is replaced wherever the reads break it.
func TestRenamed(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 64<<10-20) + talked + strings.Repeat("y", 70<<10) + talked + talked[:30] + "\n" + talked
	want := strings.ReplaceAll(text, talked, other)
	for name, in := range map[string]io.Reader{"whole": strings.NewReader(text), "by bytes": iotest.OneByteReader(strings.NewReader(text))} {
		got, err := io.ReadAll(ReplaceID(in, talked, other))
		assert.Check(t, string(got) == want && err == nil, "%s: got %d bytes, %v, want %d with the ids replaced", name, len(got), err, len(want))
	}
	_, err := io.ReadAll(ReplaceID(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(text))), talked, other))
	assert.Check(t, err != nil, "a read that fails: got no error")
}
