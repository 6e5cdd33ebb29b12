package transcripts

import (
	"path/filepath"

	"github.com/raymond-action/raymond-action/runner"
)

// MessageReader reads the messages of a transcript, and of those of the agents that it tells of.
type MessageReader struct {
	// LineHandler returns what takes the lines of one transcript; m has the place of the line.
	LineHandler func(feed *Feed) func(line []byte, m runner.Message) error
	// Subagent returns the transcript and the name of the agent that a use of a tool has started, "" for none; nil where a
	// CLI keeps none.
	Subagent func(use string) (path, name string)

	each func(runner.Message) error
	read map[string]bool // transcripts of agents: one is read once
}

// tell reads a transcript. The messages of an agent come after the use of the tool that has started it, with its place.
func (t *MessageReader) tell(path string, from, to int64, of *runner.Message) error {
	feed := NewFeed(func(use string, m runner.Message) error {
		if of != nil {
			m.Offset, m.Subagent = of.Offset, of.Subagent
		}
		if err := t.each(m); err != nil || use == "" || t.Subagent == nil {
			return err
		}
		return t.follow(use, m)
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

// follow reads the transcript of the agent that a use of a tool has started. Links are passed over.
func (t *MessageReader) follow(use string, m runner.Message) error {
	path, name := t.Subagent(use)
	if _, isFile := Size(path); !isFile || t.read[path] || !IsFolder(filepath.Dir(path)) {
		return nil
	}
	if t.read == nil {
		t.read = map[string]bool{}
	}
	t.read[path] = true
	m.Subagent = name
	return t.tell(path, 0, -1, &m)
}
