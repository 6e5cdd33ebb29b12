package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// Memory keeps runs in the memory of this process, for tests: it has no service, no origin and no
// expiry. All its methods may be called concurrently.
type Memory struct {
	mu      sync.Mutex
	archive map[string][]archived // checkpoints by key and part, oldest first
	claims  map[string]holder     // by key and part
	err     error                 // see Fail
}

// holder is a step that has a key until its process has ended or its post phase releases the key.
type holder struct {
	step    string
	process slots.Process
}

// archived is a checkpoint in memory.
type archived struct {
	name string
	data []byte
}

// Open returns the store of one job.
func (m *Memory) Open(c Config) Store {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.claims == nil {
		m.claims, m.archive = map[string]holder{}, map[string][]archived{}
	}
	return &memoryStore{c, m}
}

// Fail makes all attempts to store a checkpoint fail with an error, or succeed again with nil.
func (m *Memory) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

type memoryStore struct {
	Config
	memory *Memory
}

// place returns the name of the checkpoints of a key.
func (k Key) place() string {
	if k.Part == nil {
		return k.Name
	}
	return k.Name + "~" + k.Part.Name
}

// Look implements Store.
func (s *memoryStore) Look(_ context.Context, q Query) (*Lookup, error) {
	if q.Mode == slots.Never {
		return &Lookup{}, nil
	}
	return s.read(Key{Name: q.Key}, func(m *checkpoint.Manifest) bool {
		return q.Mode == slots.Auto || q.Mode == slots.Require || q.Mode == m.WorkflowID
	})
}

// read unpacks the newest checkpoint of a key that is wanted.
func (s *memoryStore) read(k Key, isWanted func(*checkpoint.Manifest) bool) (l *Lookup, err error) {
	s.memory.mu.Lock()
	all := s.memory.archive[k.place()]
	s.memory.mu.Unlock()
	l = &Lookup{here: s.Machine, isListed: true}
	for i := len(all) - 1; i >= 0 && err == nil && l.Run == nil; i-- {
		dir, failed := os.MkdirTemp(s.Dir, "checkpoint-")
		if failed != nil {
			return l, failed
		}
		f, failed := os.CreateTemp(s.Dir, "checkpoint-*.zip")
		if failed != nil {
			return l, failed
		}
		_, err = f.Write(all[i].data)
		var m checkpoint.Manifest
		var digest string
		if err == nil {
			m, digest, err = checkpoint.Read(checkpoint.ReadRequest{File: f, Size: int64(len(all[i].data)), Keys: s.Keys, Dir: dir})
		}
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		if err == nil && isWanted(&m) {
			l.Found = slots.Found{Manifest: &m, Digest: digest, Dir: dir, Artifact: artifacts.Artifact{Name: all[i].name}, RunID: m.RunID, InThisRun: m.RunID == s.Event.RunID, RunStatus: "completed", JobStatus: "completed"}
			l.Run, err = readState(&l.Found)
		} else {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	return l, err
}

// Parts implements Store.
func (s *memoryStore) Parts(_ context.Context, l *Lookup, parts []state.Part) (all []*Part, err error) {
	for _, p := range parts {
		found, err := s.read(Key{l.Manifest.Key, &p}, func(*checkpoint.Manifest) bool { return true })
		if err != nil {
			return nil, err
		}
		part := slots.PartFound{Part: p}
		if found.Run != nil {
			part.All = []*slots.Found{&found.Found}
		}
		all = append(all, &Part{
			PartRun: state.PartRun{Part: p}, IsStored: found.Run != nil, here: l,
			read: func(context.Context) (slots.PartFound, error) { return part, nil },
		})
	}
	return all, nil
}

// Limitations implements Store.
func (s *memoryStore) Limitations(hasPrompts bool) []string { return s.limitations(hasPrompts) }

// View implements Store.
func (s *memoryStore) View() Lease { return &unstored{checkpoints: checkpoints{c: &s.Config}} }

// Claim implements Store.
func (s *memoryStore) Claim(k Key) (Lease, error) {
	if err := s.Claimed(filepath.Base(s.Dir)); err != nil {
		return nil, err
	}
	l := &memoryLease{checkpoints: checkpoints{c: &s.Config, receipt: Receipt{Place: Elsewhere}}, memory: s.memory, key: k, lost: make(chan string, 1)}
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	by := s.memory.claims[k.place()]
	isAlive, isKnown := s.Process.Alive(by.process)
	if by.step != "" && by.step != s.Dir && (isAlive || !isKnown) {
		s.Lost()
		l.conflict = &slots.Conflict{Name: k.place(), What: fmt.Sprintf("the key %q is used by %s", k.Name, filepath.Base(by.step))}
		l.lost <- fmt.Sprintf("a conflict about the key %q", k.Name)
		return l, nil
	}
	s.memory.claims[k.place()] = holder{s.Dir, s.Process.Self()}
	return l, nil
}

// Reopen implements Store.
func (s *memoryStore) Reopen(n Note) (Lease, error) {
	l := &reopened{checkpoints: s.left(n), note: n}
	l.shelf = func(from chain) shelf { return &memoryShelf{s.memory, n.Key.place(), from.Stored} }
	l.release = func(context.Context) error { return s.memory.release(n.Key, s.Dir) }
	return l, nil
}

// release frees a key if a step has it.
func (m *Memory) release(k Key, step string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.claims[k.place()].step == step {
		delete(m.claims, k.place())
	}
	return nil
}

// memoryLease is a key that a step has in memory.
type memoryLease struct {
	checkpoints
	memory   *Memory
	key      Key
	conflict *slots.Conflict
	lost     chan string
}

// Wait implements Lease.
func (l *memoryLease) Wait(context.Context, time.Duration) error {
	if l.conflict != nil {
		return l.conflict
	}
	return nil
}

// Lost implements Lease.
func (l *memoryLease) Lost() <-chan string { return l.lost }

// Release implements Lease.
func (l *memoryLease) Release(context.Context) error { return l.memory.release(l.key, l.c.Dir) }

// Restore implements Lease.
func (l *memoryLease) Restore(ctx context.Context, found *Lookup, to Target) (*journal.File, *state.Run, error) {
	file, run, err := l.restore(ctx, found, to)
	if err != nil {
		return nil, nil, err
	}
	shelf := &memoryShelf{memory: l.memory, place: l.key.place()}
	w := newWriter(l.c, l.c.origin(l.key, to.About, to.Untrusted), l.dir, l.c.Worktree.Base(ctx), shelf, found.chain(to))
	w.prepare = func(ctx context.Context) error { return l.Wait(ctx, 0) }
	if err := l.begin(w, to); err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, run, nil
}

// memoryShelf stores the checkpoints of a key in memory.
type memoryShelf struct {
	memory *Memory
	place  string
	stored int
}

// Store implements shelf.
func (m *memoryShelf) Store(_ context.Context, generation int, content artifacts.NewArtifact) (artifacts.Artifact, error) {
	data, err := io.ReadAll(io.NewSectionReader(content.Content, 0, content.Size))
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	if err = errors.Join(err, m.memory.err); err != nil {
		return artifacts.Artifact{}, err
	}
	m.stored++
	a := archived{fmt.Sprintf("memory-%s-%d", m.place, generation), data}
	m.memory.archive[m.place] = append(m.memory.archive[m.place], a)
	return artifacts.Artifact{Name: a.name}, nil
}

// Own implements shelf.
func (m *memoryShelf) Own() []artifacts.Artifact { return nil }

// Stored implements shelf.
func (m *memoryShelf) Stored() int {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	return m.stored
}
