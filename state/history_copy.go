package state

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"slices"
)

// CopyHistory copies the lines of a journal up to the step with the number last. It leaves out damaged
// lines and steps after a gap, so the copy is a valid journal.
func CopyHistory(to io.Writer, journal io.Reader, last int) error {
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

// MaskHistory returns a reader for a copy of a journal in which mask has masked the texts, line by line.
// mask must not change the number of bytes. The lines get new checksums, but damaged lines stay damaged.
func MaskHistory(from io.Reader, mask func(io.Reader) io.Reader) io.Reader {
	return &maskedJournal{from: bufio.NewReaderSize(from, 256<<10), mask: mask}
}

// maskedJournal is the reader that MaskHistory returns.
type maskedJournal struct {
	from *bufio.Reader
	mask func(io.Reader) io.Reader
	out  []byte // the rest of the current line, already masked
}

// Read implements io.Reader.
func (m *maskedJournal) Read(p []byte) (int, error) {
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

// PastConversation is a conversation to which a step in a history refers.
type PastConversation struct {
	Session Session
	Dir     string // directory of an agent that used the conversation; "" means Run.Dir
}

// PastConversations returns all conversations in a journal, each of them once. The most recent one comes
// first.
func PastConversations(from io.Reader) ([]PastConversation, error) {
	n, order, found := 0, map[string]int{}, map[string]PastConversation{}
	for e, err := range readEntries(from) {
		if err != nil {
			return nil, err
		}
		var step struct {
			Agents []*Agent `json:"agents"`
		}
		if e.damage != nil || json.Unmarshal(e.data, &step) != nil {
			continue
		}
		(&Run{Agents: step.Agents}).eachSession(func(s *Session, dir string) {
			if ValidSession(s.ID) {
				n++
				order[s.ID], found[s.ID] = n, PastConversation{*s, dir}
			}
		})
	}
	return slices.SortedFunc(maps.Values(found), func(a, b PastConversation) int {
		return cmp.Compare(order[b.Session.ID], order[a.Session.ID])
	}), nil
}
