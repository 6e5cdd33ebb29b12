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

// What a Feed keeps at most while uses of tools have not brought anything yet.
const (
	mostKept      = 1000    // messages
	mostKeptBytes = 8 << 20 // of their texts
)

// Feed hands over the messages of a transcript in order, uses of tools together with what they
// brought, which stands further down in a transcript. It keeps what comes after a use until
// then, within bounds.
type Feed struct {
	each func(use string, m runner.Message) error
	kept []*said
	uses map[string]*said
	size int
	err  error
}

// said is a message that was not handed over yet.
type said struct {
	runner.Message
	use   string
	waits bool
}

// NewFeed returns a Feed that calls each with the messages, and the id of a use of a tool,
// until each returns an error.
func NewFeed(each func(use string, m runner.Message) error) *Feed {
	return &Feed{each: each, uses: map[string]*said{}}
}

// Add takes a message that is whole. It returns the error of each.
func (f *Feed) Add(m runner.Message) error { return f.take(&said{Message: m}) }

// AddToolUse takes a use of a tool, of which nothing is known yet but its input.
func (f *Feed) AddToolUse(id string, m runner.Message) error {
	if id == "" {
		return f.Add(m)
	}
	s := &said{Message: m, use: id, waits: true}
	f.uses[id] = s
	return f.take(s)
}

// AddToolResult takes what a use of a tool has brought. When the use is not known, because the
// reading began after it, other is a message of its own; its Offset and Time are those of the
// result.
func (f *Feed) AddToolResult(id string, other runner.Message) error {
	s, ok := f.uses[id]
	if !ok {
		other.From = runner.FromTool
		return f.Add(other)
	}
	delete(f.uses, id)
	s.Text, s.Failed, s.Refused, s.waits = other.Text, other.Failed, other.Refused, false
	s.Cut += other.Cut
	f.size += len(s.Text)
	return f.release(false)
}

// Flush hands over what was kept.
func (f *Feed) Flush() error { return f.release(true) }

func (f *Feed) take(s *said) error {
	f.kept = append(f.kept, s)
	f.size += len(s.Text) + len(s.Input)
	return f.release(false)
}

// release hands over the messages before the first one that waits, and all that is too much.
func (f *Feed) release(all bool) error {
	for f.err == nil && len(f.kept) > 0 {
		s := f.kept[0]
		if s.waits && !all && len(f.kept) <= mostKept && f.size <= mostKeptBytes {
			break
		}
		f.kept[0] = nil
		f.kept = f.kept[1:]
		f.size -= len(s.Text) + len(s.Input)
		delete(f.uses, s.use)
		f.err = f.each(s.use, s.Message)
	}
	return f.err
}

// TruncateText returns what of a text is read, and how many bytes were left out.
func TruncateText(text string) (string, int64) {
	if len(text) <= runner.MaxMessageText {
		return text, 0
	}
	n := runner.MaxMessageText
	for n > runner.MaxMessageText-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	// The rest of the text would stay in memory otherwise.
	return strings.Clone(text[:n]), int64(len(text) - n)
}

// ParseTime reads the time of a line; the zero time when it is none.
func ParseTime(text string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, text) // it is zero then
	return at.UTC()
}

// TextOf returns a text, or the texts of a list of parts, but for what a model only thought.
func TextOf(content jsontext.Value) string {
	var text string
	if json.Unmarshal(content, &text, jsonstrict.Loose) == nil {
		return text
	}
	var parts []struct {
		Text      string `json:"text"`
		IsThought bool   `json:"thought"`
	}
	_ = json.Unmarshal(content, &parts, jsonstrict.Loose) // there is no text then
	for _, p := range parts {
		if !p.IsThought {
			text += p.Text
		}
	}
	return text
}

// The limits of what is kept while a transcript is summed up: one that is no such thing must not cost more memory.
const (
	MaxMessages = 100_000
	MaxNames    = 512 // bytes of the id and the model of a message
)

// SumUsage adds up what the lines of a transcript tell from a byte on, one element a model, in order of name. told returns the
// tokens of the message of a line and its id, and false for a line without; of a message the last line counts.
func SumUsage(path string, from int64, told func(line []byte) (id string, u state.Usage, ok bool)) ([]state.Usage, error) {
	messages := map[string]state.Usage{}
	err := Read(path, from, -1, func(_ int64, line []byte, truncated bool) error {
		if truncated {
			return nil
		}
		id, u, ok := told(line)
		switch {
		case !ok:
			return nil
		case len(id)+len(u.Model) > MaxNames || len(messages) >= MaxMessages:
			return errors.New("this is no transcript of the CLI")
		}
		messages[id] = u
		return nil
	})
	return state.ByModel(maps.Values(messages)), err
}

// head returns a reader for the whole lines within the first length bytes of a transcript, of all when length < 0, and how many
// bytes these are. The error has fs.ErrNotExist in it when the transcript is shorter: what was said until then is gone.
func head(f io.ReaderAt, size, length int64) (io.Reader, int64, error) {
	if length < 0 {
		length = size
	}
	if length > size {
		return nil, 0, &fs.PathError{Op: "copy", Path: "transcript, which is shorter than it was", Err: fs.ErrNotExist}
	}
	end, err := lastLine(f, length)
	return io.NewSectionReader(f, 0, end), end, err
}

// lastLine returns the end of the last whole line within the first length bytes.
func lastLine(f io.ReaderAt, length int64) (int64, error) {
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
