package transcripts

import (
	"path/filepath"

	"github.com/raymond-action/raymond-action/runner"
)

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
// call, or nil if the transcript does not belong to a subagent.
func (t *MessageReader) readTranscript(path string, from, to int64, of *runner.Message) error {
	feed := NewFeed(func(use string, m runner.Message) error {
		if of != nil {
			m.Offset, m.Subagent = of.Offset, of.Subagent
		}
		if err := t.each(m); err != nil || use == "" || t.Subagent == nil {
			return err
		}
		return t.readSubagent(use, m)
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

// readSubagent reads the transcript of the subagent that a tool call has started, if there is one.
// It ignores symbolic links.
func (t *MessageReader) readSubagent(use string, m runner.Message) error {
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
}
