package transcripts

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"gotest.tools/v3/assert"
)

const (
	oldID = "0a0b0c0d-0000-4000-8000-00000000000a"
	newID = "0a0b0c0d-0000-4000-8000-00000000000b"
)

// TestReplaceID checks that an id is replaced even if it is split between two reads.
func TestReplaceID(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 64<<10-20) + oldID + strings.Repeat("y", 70<<10) + oldID + oldID[:30] + "\n" + oldID
	want := strings.ReplaceAll(text, oldID, newID)
	for name, in := range map[string]io.Reader{"whole": strings.NewReader(text), "by bytes": iotest.OneByteReader(strings.NewReader(text))} {
		got, err := io.ReadAll(ReplaceID(in, oldID, newID))
		assert.Check(t, string(got) == want && err == nil, "%s: got %d bytes, %v, want %d with the ids replaced", name, len(got), err, len(want))
	}
	_, err := io.ReadAll(ReplaceID(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(text))), oldID, newID))
	assert.Check(t, err != nil, "a read that fails: got no error")
}
