package transcripts

import (
	"path/filepath"

	"github.com/raymond-action/raymond-action/runner"
)

// Teller reads the messages of a transcript, and of those of the agents that it tells of.
type Teller struct {
	// Begin returns what takes the lines of one transcript; m has the place of the line.
	Begin func(feed *Feed) func(line []byte, m runner.Message) error
	// Agent returns the transcript and the name of the agent that a use of a tool has started, "" for none; nil where a
	// CLI keeps none.
	Agent func(use string) (path, name string)

	each func(runner.Message) error
	read map[string]bool // transcripts of agents: one is read once
}

// tell reads a transcript. The messages of an agent come after the use of the tool that has started it, with its place.
func (t *Teller) tell(path string, from, to int64, of *runner.Message) error {
	feed := NewFeed(func(use string, m runner.Message) error {
		if of != nil {
			m.Offset, m.Subagent = of.Offset, of.Subagent
		}
		if err := t.each(m); err != nil || use == "" || t.Agent == nil {
			return err
		}
		return t.follow(use, m)
	})
	take := t.Begin(feed)
	err := Read(path, from, to, func(at int64, line []byte, truncated bool) error {
		if truncated {
			return feed.Say(runner.Message{Offset: at, From: runner.FromCLI, Cut: int64(len(line))})
		}
		return take(line, runner.Message{Offset: at})
	})
	if err != nil {
		return err
	}
	return feed.Flush()
}

// follow reads the transcript of the agent that a use of a tool has started. Links are passed over.
func (t *Teller) follow(use string, m runner.Message) error {
	path, name := t.Agent(use)
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
