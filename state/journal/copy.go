package journal

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// Copy copies the lines of a journal up to the step with the number last. It leaves out damaged
// lines and steps after a gap, so the copy is a valid journal.
func Copy(to io.Writer, journal io.Reader, last int) error {
	seq := 0
	for e, err := range readEntries(journal) {
		if err != nil {
			return err
		}
		if e.damage != nil || e.seq > last || !e.isRun && e.seq != seq+1 {
			continue
		}
		seq = e.seq
		if _, err := to.Write(e.text); err != nil {
			return err
		}
	}
	return nil
}

// Mask returns a reader for a copy of a journal in which mask has masked the texts, line by line.
// mask must not change the number of bytes. The lines get new checksums, but damaged lines stay damaged.
func Mask(from io.Reader, mask func(io.Reader) io.Reader) io.Reader {
	return &maskedCopy{from: bufio.NewReaderSize(from, 256<<10), mask: mask}
}

// maskedCopy is the reader that Mask returns.
type maskedCopy struct {
	from *bufio.Reader
	mask func(io.Reader) io.Reader
	out  []byte // the rest of the current line, already masked
}

// Read implements io.Reader.
func (m *maskedCopy) Read(p []byte) (int, error) {
	if len(m.out) == 0 {
		line, err := m.from.ReadBytes('\n')
		if len(line) == 0 {
			return 0, err
		}
		_, bad := checkedLine(bytes.TrimSuffix(line, []byte("\n")))
		if m.out, err = io.ReadAll(m.mask(bytes.NewReader(line))); err != nil {
			return 0, err
		}
		if bad == nil && len(m.out) > 10 {
			data := bytes.TrimSuffix(m.out[9:], []byte("\n"))
			copy(m.out, checksum(data))
		}
	}
	n := copy(p, m.out)
	m.out = m.out[n:]
	return n, nil
}

// Conversation is a conversation to which a step in a history refers.
type Conversation struct {
	Session state.Session
	Dir     string // directory of an agent that used the conversation; "" means state.Run.Dir
}

// Conversations returns all conversations in a journal, each of them once. The most recent one comes
// first.
func Conversations(from io.Reader) ([]Conversation, error) {
	n, order, found := 0, map[string]int{}, map[string]Conversation{}
	for e, err := range readEntries(from) {
		if err != nil {
			return nil, err
		}
		var step struct {
			Agents []*state.Agent `json:"agents"`
		}
		if e.damage != nil || json.Unmarshal(e.data, &step) != nil {
			continue
		}
		(&state.Run{Agents: step.Agents}).EachSession(func(s *state.Session, dir string) {
			if state.ValidSession(s.ID) {
				n++
				order[s.ID], found[s.ID] = n, Conversation{*s, dir}
			}
		})
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Conversation) int {
		return cmp.Compare(order[b.Session.ID], order[a.Session.ID])
	}), nil
}
