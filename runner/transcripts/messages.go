package transcripts

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// The limits of a Feed that waits for the results of tool uses.
const (
	maxPending      = 1000    // messages
	maxPendingBytes = 8 << 20 // bytes of their texts
)

// Feed passes on the messages of a transcript in order. It combines each tool use with its result,
// which comes later in the transcript; until then it holds back the messages after the use, within
// limits.
type Feed struct {
	each    func(use string, m runner.Message) error
	pending []*pendingMessage
	uses    map[string]*pendingMessage
	size    int
	err     error
}

// pendingMessage is a message that has not been passed on.
type pendingMessage struct {
	runner.Message
	use       string
	isPending bool
}

// NewFeed returns a Feed that calls each with the messages, until each returns an error. use is the
// id of a tool use, "" for other messages.
func NewFeed(each func(use string, m runner.Message) error) *Feed {
	return &Feed{each: each, uses: map[string]*pendingMessage{}}
}

// Add adds a complete message. It returns the error of each.
func (f *Feed) Add(m runner.Message) error { return f.enqueue(&pendingMessage{Message: m}) }

// AddToolUse adds a tool use whose result is not known yet.
func (f *Feed) AddToolUse(id string, m runner.Message) error {
	if id == "" {
		return f.Add(m)
	}
	s := &pendingMessage{Message: m, use: id, isPending: true}
	f.uses[id] = s
	return f.enqueue(s)
}

// AddToolResult adds the result of a tool use. If the use is unknown, because reading started after
// it, the result becomes a separate message. other has the result, its Offset and its Time.
func (f *Feed) AddToolResult(id string, other runner.Message) error {
	s, ok := f.uses[id]
	if !ok {
		other.From = runner.FromTool
		return f.Add(other)
	}
	delete(f.uses, id)
	s.Text, s.Failed, s.Refused, s.isPending = other.Text, other.Failed, other.Refused, false
	s.Cut += other.Cut
	f.size += len(s.Text)
	return f.release(false)
}

// Flush passes on all pending messages.
func (f *Feed) Flush() error { return f.release(true) }

func (f *Feed) enqueue(s *pendingMessage) error {
	f.pending = append(f.pending, s)
	f.size += len(s.Text) + len(s.Input)
	return f.release(false)
}

// release passes on the messages before the first pending tool use. Messages beyond the limits, or
// all of them, are passed on without waiting for the result.
func (f *Feed) release(all bool) error {
	for f.err == nil && len(f.pending) > 0 {
		s := f.pending[0]
		if s.isPending && !all && len(f.pending) <= maxPending && f.size <= maxPendingBytes {
			break
		}
		f.pending[0] = nil
		f.pending = f.pending[1:]
		f.size -= len(s.Text) + len(s.Input)
		delete(f.uses, s.use)
		f.err = f.each(s.use, s.Message)
	}
	return f.err
}

// TruncateText returns a text cut to runner.MaxMessageText bytes, and the number of bytes cut off.
func TruncateText(text string) (string, int64) {
	if len(text) <= runner.MaxMessageText {
		return text, 0
	}
	n := runner.MaxMessageText
	for n > runner.MaxMessageText-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	// A substring would keep the whole text in memory.
	return strings.Clone(text[:n]), int64(len(text) - n)
}

// ParseTime parses the time of a line. It returns the zero time if that fails.
func ParseTime(text string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, text) // zero on error
	return at.UTC()
}

// TextOf returns the text of a JSON string, or of a list of content blocks without the model's
// thoughts.
func TextOf(content jsontext.Value) string {
	var text string
	if json.Unmarshal(content, &text, jsonstrict.Loose) == nil {
		return text
	}
	var parts []struct {
		Text      string `json:"text"`
		IsThought bool   `json:"thought"`
	}
	_ = json.Unmarshal(content, &parts, jsonstrict.Loose) // without blocks the text is empty
	for _, p := range parts {
		if !p.IsThought {
			text += p.Text
		}
	}
	return text
}

// The limits while a transcript is summed up, so that a file that is not a transcript can't use up
// memory.
const (
	MaxMessages = 100_000
	MaxNames    = 512 // bytes of the id and the model of a message
)

// SumUsage adds up the tokens in a transcript from a byte offset on, and returns one element per
// model, in order of name. read returns the id and the tokens of the message in a line, and false
// for a line without tokens. If several lines have the same id, the last one counts.
func SumUsage(path string, from int64, read func(line []byte) (id string, u state.Usage, ok bool)) ([]state.Usage, error) {
	messages := map[string]state.Usage{}
	err := Read(path, from, -1, func(_ int64, line []byte, truncated bool) error {
		if truncated {
			return nil
		}
		id, u, ok := read(line)
		switch {
		case !ok:
			return nil
		case len(id)+len(u.Model) > MaxNames || len(messages) >= MaxMessages:
			return errors.New("not a transcript of the agent CLI")
		}
		messages[id] = u
		return nil
	})
	return state.ByModel(maps.Values(messages)), err
}

// completeLines returns a reader for the complete lines in the first length bytes of a transcript,
// or in all of it if length < 0, and their size in bytes. If the transcript is shorter than length,
// its content is lost, and the error wraps fs.ErrNotExist.
func completeLines(f io.ReaderAt, size, length int64) (io.Reader, int64, error) {
	if length < 0 {
		length = size
	}
	if length > size {
		return nil, 0, &fs.PathError{Op: "copy", Path: "transcript, which is shorter than before", Err: fs.ErrNotExist}
	}
	end, err := lastLineEnd(f, length)
	return io.NewSectionReader(f, 0, end), end, err
}

// lastLineEnd returns the end of the last complete line in the first length bytes.
func lastLineEnd(f io.ReaderAt, length int64) (int64, error) {
	chunk := make([]byte, 64<<10)
	for length > 0 {
		n := min(length, int64(len(chunk)))
		if _, err := f.ReadAt(chunk[:n], length-n); err != nil {
			return 0, err
		}
		for i := n - 1; i >= 0; i-- {
			if chunk[i] == '\n' {
				return length - n + i + 1, nil
			}
		}
		length -= n
	}
	return 0, nil
}
