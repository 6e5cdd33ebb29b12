package transcripts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
)

// collect returns a Feed and a list of the messages that it passes on. A tool call is listed as
// "use:input=output", any other message as its text.
func collect() (*Feed, *[]string) {
	got := &[]string{}
	return NewFeed(func(use string, m runner.Message) error {
		text := m.Text
		if use != "" {
			text = use + ":" + m.Input + "=" + m.Text
		}
		*got = append(*got, text)
		return nil
	}), got
}

// TestFeed checks that messages keep their order, and that a tool call is passed on with its
// result.
func TestFeed(t *testing.T) {
	t.Parallel()
	f, got := collect()
	text := func(s string) runner.Message { return runner.Message{Text: s} }
	use := func(s string) runner.Message { return runner.Message{Input: s} }
	want := func(when string, want ...string) {
		t.Helper()
		assert.Check(t, is.DeepEqual(*got, want), when)
	}
	err := errors.Join(f.Add(text("a")), f.AddToolUse("1", use("x")), f.AddToolUse("2", use("y")), f.Add(text("b")), f.AddToolResult("2", text("second")))
	want("while the first use waits", "a")
	err = errors.Join(err, f.AddToolResult("1", text("first")))
	want("when it has brought something", "a", "1:x=first", "2:y=second", "b")
	err = errors.Join(err, f.AddToolResult("0", text("of an earlier use")), f.AddToolUse("", use("unnamed")), f.AddToolUse("3", use("z")), f.Flush())
	want("at the end", "a", "1:x=first", "2:y=second", "b", "of an earlier use", "", "3:z=")
	assert.Check(t, err)
}

// TestFeedIsBounded checks that a tool call without a result does not hold back all later messages.
func TestFeedIsBounded(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"many": 1, "large": runner.MaxMessageText} {
		f, got := collect()
		assert.NilError(t, f.AddToolUse("1", runner.Message{}))
		for range 2 * maxPending {
			assert.NilError(t, f.Add(runner.Message{Text: strings.Repeat("x", size)}))
		}
		assert.Check(t, is.Equal(len(*got), 2*maxPending+1), "%s: messages", name)
	}
	stop := errors.New("enough")
	f := NewFeed(func(string, runner.Message) error { return stop })
	err := f.Add(runner.Message{})
	assert.Check(t, errors.Is(err, stop) && errors.Is(f.Flush(), stop), "a reader that wants no more: got %v, want %v", err, stop)
}

// TestTruncateText checks that a text is truncated between two characters.
func TestTruncateText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		cut  int64
	}{
		{"short", 0}, {strings.Repeat("x", runner.MaxMessageText), 0}, {strings.Repeat("x", runner.MaxMessageText+3), 3},
		{"x" + strings.Repeat("é", runner.MaxMessageText/2), 2}, {strings.Repeat("\x80", runner.MaxMessageText+1), 5},
	} {
		got, cut := TruncateText(tt.text)
		assert.Check(t, cut == tt.cut && got+tt.text[len(got):] == tt.text && len(got)+int(cut) == len(tt.text), "%.5q of %d bytes: got %d and %d, want %d cut off", tt.text, len(tt.text), len(got), cut, tt.cut)
	}
}

// TestReadKeepsToTheRange checks that Read returns exactly the lines that start in the given range,
// independent of the chunks in which the file is read.
func TestReadKeepsToTheRange(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100<<10)
	path := filepath.Join(t.TempDir(), "t.jsonl")
	assert.NilError(t, os.WriteFile(path, []byte("a\n"+long+"\n\nb\nlast"), 0o600))
	n := int64(len(long))
	for _, tt := range []struct {
		from, to int64
		want     string
	}{
		{0, -1, fmt.Sprintf("0:1 2:%d %d:0 %d:1 %d:4 ", n, n+3, n+4, n+6)},
		{2, n + 4, fmt.Sprintf("2:%d %d:0 ", n, n+3)},
		{1, 2, ""}, {3, n + 5, fmt.Sprintf("%d:0 %d:1 ", n+3, n+4)}, {n + 6, -1, fmt.Sprintf("%d:4 ", n+6)}, {n + 100, -1, ""}, {0, 0, ""},
	} {
		var got strings.Builder
		err := Read(path, tt.from, tt.to, func(at int64, line []byte, _ bool) error {
			fmt.Fprintf(&got, "%d:%d ", at, len(line))
			return nil
		})
		assert.Check(t, is.Equal(got.String(), tt.want), "from %d to %d", tt.from, tt.to)
		assert.Check(t, err, "from %d to %d", tt.from, tt.to)
	}
}

// TestCompleteLines checks that completeLines returns only complete lines, and that it returns an
// error if the transcript is too short.
func TestCompleteLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100<<10)
	for _, tt := range []struct {
		text   string
		length int64
		want   string
	}{
		{"a\nb\n", -1, "a\nb\n"}, {"a\nb", -1, "a\n"}, {"a\nb\n", 3, "a\n"}, {"a\nb\n", 2, "a\n"}, {"a\nb\n", 1, ""}, {"", -1, ""},
		{"a\n" + long, -1, "a\n"}, {long + "\n", -1, long + "\n"},
	} {
		in, n, err := completeLines(strings.NewReader(tt.text), int64(len(tt.text)), tt.length)
		assert.NilError(t, err)
		got, err := io.ReadAll(in)
		assert.Check(t, string(got) == tt.want && n == int64(len(got)) && err == nil, "%.10q, %d bytes: got %.10q, %d, %v, want %.10q", tt.text, tt.length, got, n, err, tt.want)
	}
	_, _, err := completeLines(strings.NewReader("a\n"), 2, 3)
	assert.Check(t, is.ErrorIs(err, fs.ErrNotExist), "more than the size")
}

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
