package gemini

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/tally"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

const (
	// A transcript that is no such thing must not cost more memory than this.
	maxMessages = 1 << 20
	maxNames    = 1024
)

// said is a message in a transcript. The CLI writes one again when it learns more about it.
type said struct {
	ID      string         `json:"id"`
	Type    string         `json:"type"` // "user" or "gemini"; others are notes
	Model   string         `json:"model"`
	Content jsontext.Value `json:"content"` // a text, or parts of it
	Tools   jsontext.Value `json:"toolCalls"`
	Tokens  counts         `json:"tokens"`
}

// counts are the tokens of a message. Those of the input are with what came from the cache.
type counts struct {
	Input    jsontext.Value `json:"input"`
	Output   jsontext.Value `json:"output"`
	Cached   jsontext.Value `json:"cached"`
	Thoughts jsontext.Value `json:"thoughts"`
	Tool     jsontext.Value `json:"tool"`
}

func (c counts) usage(model string) state.Usage {
	cached := tally.Count(c.Cached)
	return state.Usage{
		Model: model, Input: max(tally.Count(c.Input)-cached, 0) + tally.Count(c.Tool), CacheRead: cached,
		Output: tally.Count(c.Output) + tally.Count(c.Thoughts),
	}
}

// isSaid reports whether the message is one of a user or of the model.
func (m said) isSaid() bool { return m.Type == "user" || m.Type == "gemini" }

// text is what the message says.
func (m said) text() string { return transcripts.TextOf(m.Content) }

// messages returns what was said in a transcript from a byte on, in order, each message as it was
// written last.
func messages(path string, from int64) ([]said, error) {
	var all []said
	at := map[string]int{}
	err := transcripts.EachLine(path, from, func(line []byte, truncated bool) error {
		var m said
		if truncated || json.Unmarshal(line, &m, tally.Loose) != nil || !m.isSaid() {
			return nil
		}
		if len(m.ID)+len(m.Model) > maxNames || len(all) >= maxMessages {
			return errors.New("this is no transcript of the CLI")
		}
		m.Content, m.Tools = slices.Clone(m.Content), slices.Clone(m.Tools)
		if i, known := at[m.ID]; known {
			all[i] = m
			return nil
		}
		at[m.ID] = len(all)
		all = append(all, m)
		return nil
	})
	return all, err
}

// finalText is what the model has said last, after its last use of a tool.
func finalText(all []said) string {
	text := ""
	for _, m := range all {
		switch {
		case m.Type != "gemini", len(m.Tools) > 0 && string(m.Tools) != "null" && string(m.Tools) != "[]":
			text = ""
		default:
			text += m.text()
		}
	}
	return text
}

// used adds up the tokens of messages, in order of the models' names.
func used(all []said) []state.Usage {
	return tally.ByModel(func(yield func(state.Usage) bool) {
		for _, m := range all {
			if !yield(m.Tokens.usage(m.Model)) {
				return
			}
		}
	})
}

// Length implements runner.Transcripts.
func (b *Backend) Length(c runner.Conversation) (int64, bool) {
	path, _, ok := b.home().find(c.ID, c.Dir)
	if !ok {
		return 0, false
	}
	return transcripts.Size(path)
}

// Usage implements runner.Transcripts.
func (b *Backend) Usage(c runner.Conversation, from int64) ([]state.Usage, bool) {
	path, _, _ := b.home().find(c.ID, c.Dir)
	size, ok := transcripts.Size(path)
	if !ok || from < 0 || size-from > transcripts.MaxRead {
		return nil, false
	}
	all, err := messages(path, from)
	if err != nil {
		return nil, false
	}
	list := used(all)
	return list, len(list) > 0
}

// Find implements runner.Transcripts. A conversation in which nobody has said anything can't be
// resumed.
func (b *Backend) Find(c runner.Conversation, dirs []string) (runner.Stored, bool) {
	path, dir, ok := b.home().find(c.ID, dirs...)
	if !ok {
		return runner.Stored{}, false
	}
	if holds, err := holdsPrompt(path); err != nil || !holds {
		return runner.Stored{}, false
	}
	size, ok := transcripts.Size(path) // after the search, so that the prompt is within it
	return runner.Stored{Path: path, Size: size, Dir: dir}, ok
}

// Read implements runner.Transcripts.
func (b *Backend) Read(c runner.Conversation, from, to int64, each func(runner.Message) error) error {
	path, _, ok := b.home().find(c.ID, c.Dir)
	if !ok {
		return gone(c.ID)
	}
	r := reader{each: each, folder: filepath.Join(filepath.Dir(path), c.ID), agents: map[string]agent{}, read: map[string]bool{}}
	return r.transcript(path, from, to, nil)
}

// Copy implements runner.Transcripts.
func (b *Backend) Copy(c runner.Conversation, length int64, id, dir string) (cliID string, err error) {
	if !transcripts.IsUUID(id) {
		return "", fmt.Errorf("copy conversation: the id %.80q is no UUID in lower case", id)
	}
	if _, _, ok := b.home().find(id, dir); ok {
		return "", fmt.Errorf("copy conversation: there is a conversation %s already", id)
	}
	if err := b.home().copy(c, length, id, dir); err != nil {
		return "", fmt.Errorf("copy conversation: %w", err)
	}
	return "", nil
}

// Place implements runner.Transcripts. A transcript without any prompt is of no use to the CLI and
// is not put there, which is no error.
func (b *Backend) Place(c runner.Conversation, from string) error {
	if err := b.place(c, from); err != nil {
		return fmt.Errorf("put transcript of session %q in place: %w", c.ID, err)
	}
	return nil
}

func (b *Backend) place(c runner.Conversation, from string) error {
	if !transcripts.IsUUID(c.ID) {
		return errors.New("its id is no UUID in lower case")
	}
	if id := idOf(from); id != c.ID {
		return fmt.Errorf("it is the one of %.80q", id)
	}
	if holds, err := holdsPrompt(from); err != nil || !holds {
		return err
	}
	return transcripts.Bring(from, func(in io.Reader) error { return b.home().place(c.ID, c.Dir, in) })
}

// Clear implements runner.Transcripts.
func (b *Backend) Clear(c runner.Conversation, only *runner.Mark) error {
	if !transcripts.IsUUID(c.ID) {
		return errors.New("clear session: its id is no UUID in lower case")
	}
	return b.home().clear(c.ID, only)
}

// clear removes what is kept of a conversation, whichever directory it was held in.
func (h home) clear(id string, only *runner.Mark) error {
	list, err := os.ReadDir(h.ours("tmp"))
	if err != nil {
		return nil //nolint:nilerr // there is no home, and nothing in it
	}
	for _, entry := range list {
		chats, oops := transcripts.Open(h.ours(), "tmp", entry.Name(), "chats")
		if oops != nil {
			continue // it is a link, or no folder of its own
		}
		err = errors.Join(err, remove(chats, id, only), chats.Close())
	}
	return err
}

// Words are those of every transcript, without which the CLI can't read it.
func Words() []string {
	return []string{"sessionId", "projectHash", "type", "user", "gemini", "content", "text", "toolCalls", "$set", "messages", "id"}
}
