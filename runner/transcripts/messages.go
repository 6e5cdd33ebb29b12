package transcripts

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// The limits for messages that a Feed holds back until the results of tool calls are known.
const (
	maxPending      = 1000    // number of messages
	maxPendingBytes = 8 << 20 // bytes of the messages' texts
)

// Feed passes on the messages of a transcript in order. It combines each tool call with its result,
// which comes later in the transcript. Until the result is known, Feed holds back the tool call and
// all messages after it, up to a limit.
type Feed struct {
	each    func(use string, m runner.Message) error
	pending []*pendingMessage
	uses    map[string]*pendingMessage
	size    int
	err     error
}

// pendingMessage is a message that was not passed on yet. If isPending is set, it is a tool call
// whose result is not known.
type pendingMessage struct {
	runner.Message
	use       string
	isPending bool
}

// NewFeed returns a Feed that passes each message to the function each, until that function returns
// an error. use is the id of the tool call, or "" if the message is not a tool call.
func NewFeed(each func(use string, m runner.Message) error) *Feed {
	return &Feed{each: each, uses: map[string]*pendingMessage{}}
}

// Add adds a message that is not a tool call. Like the other methods, it returns the error that the
// function passed to NewFeed has returned.
func (f *Feed) Add(m runner.Message) error { return f.enqueue(&pendingMessage{Message: m}) }

// AddToolUse adds a tool call whose result is not known yet. A call without an id is added without
// waiting for its result.
func (f *Feed) AddToolUse(id string, m runner.Message) error {
	if id == "" {
		return f.Add(m)
	}
	s := &pendingMessage{Message: m, use: id, isPending: true}
	f.uses[id] = s
	return f.enqueue(s)
}

// AddToolResult adds the result in the message other to the tool call with the given id. The result
// becomes a separate message if the tool call was already passed on, or if reading started after it.
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

// Flush passes on all messages that were held back.
func (f *Feed) Flush() error { return f.release(true) }

// enqueue adds a message to the pending ones, and passes on the messages that no longer have to
// wait.
func (f *Feed) enqueue(s *pendingMessage) error {
	f.pending = append(f.pending, s)
	f.size += len(s.Text) + len(s.Input)
	return f.release(false)
}

// release passes on the messages before the first tool call without a result. If there are too many
// pending messages, or if all is set, it also passes on messages that would have to wait.
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

// TruncateText truncates a text to at most runner.MaxMessageText bytes, without splitting a
// character. It also returns the number of bytes that were removed.
func TruncateText(text string) (string, int64) {
	if len(text) <= runner.MaxMessageText {
		return text, 0
	}
	n := runner.MaxMessageText
	for n > runner.MaxMessageText-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	// A substring would keep the whole text in memory, so copy it.
	return strings.Clone(text[:n]), int64(len(text) - n)
}

// ParseTime parses a time in the format of transcripts. It returns the zero time if text is not
// valid.
func ParseTime(text string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, text) // if this fails, at is the zero time
	return at.UTC()
}

// TextOf returns the text of a message's content: a JSON string, or a list of content blocks.
// Blocks with the model's thoughts are left out.
func TextOf(content jsontext.Value) string {
	var text string
	if json.Unmarshal(content, &text, jsonstrict.Loose) == nil {
		return text
	}
	var parts []struct {
		Text      string `json:"text"`
		IsThought bool   `json:"thought"`
	}
	_ = json.Unmarshal(content, &parts, jsonstrict.Loose) // for any other value the text is empty
	for _, p := range parts {
		if !p.IsThought {
			text += p.Text
		}
	}
	return text
}

// The limits for a file that SumUsage reads. They keep a file that is not a transcript from using up
// the memory.
const (
	MaxMessages = 100_000
	MaxNames    = 512 // bytes of a message's id and its model
)

// SumUsage adds up the tokens in a transcript from a byte offset on. It returns one element for
// each model, sorted by name. read returns the id and the tokens of the message in a line, or false
// for a line without tokens. If several lines have the same id, only the last one counts.
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

// completeLines returns a reader for the complete lines within the first length bytes of a
// transcript, and the number of bytes that these lines have. If length is negative, the whole
// transcript is used. If the transcript is shorter than length, some of it was lost, and the error
// wraps fs.ErrNotExist.
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

// lastLineEnd returns the offset after the last line break within the first length bytes.
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

// MessageReader reads the messages of a transcript, and of the subagents that were started in it.
type MessageReader struct {
	// LineHandler returns a function that is called for each line of one transcript that was not
	// truncated. The function adds the line's messages to feed. m is the template for these
	// messages: it contains the offset of the line.
	LineHandler func(feed *Feed) func(line []byte, m runner.Message) error
	// Subagent returns the path of the transcript and the name of the subagent that a tool call has
	// started. It returns empty strings if the call has not started a subagent. Subagent is nil if
	// the CLI doesn't write transcripts of subagents.
	Subagent func(use string) (path, name string)

	each func(runner.Message) error
	read map[string]bool // transcripts of subagents that were already read; each is read once
}

// readTranscript reads one transcript. The messages of a subagent follow the tool call that started
// the subagent, and have the offset of that tool call. The parameter of is the message with that tool
// call, or nil if the transcript does not belong to a subagent. Symbolic links are ignored.
func (t *MessageReader) readTranscript(path string, from, to int64, of *runner.Message) error {
	feed := NewFeed(func(use string, m runner.Message) error {
		if of != nil {
			m.Offset, m.Subagent = of.Offset, of.Subagent
		}
		if err := t.each(m); err != nil || use == "" || t.Subagent == nil {
			return err
		}
		path, name := t.Subagent(use)
		if _, isFile := Size(path); !isFile || t.read[path] || !IsFolder(filepath.Dir(path)) {
			return nil
		}
		if t.read == nil {
			t.read = map[string]bool{}
		}
		t.read[path] = true
		m.Subagent = name
		return t.readTranscript(path, 0, -1, &m)
	})
	take := t.LineHandler(feed)
	err := Read(path, from, to, func(at int64, line []byte, truncated bool) error {
		if truncated {
			return feed.Add(runner.Message{Offset: at, From: runner.FromCLI, Cut: int64(len(line))})
		}
		return take(line, runner.Message{Offset: at})
	})
	if err != nil {
		return err
	}
	return feed.Flush()
}
