//go:build linux

package checkpoints

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/internal/forge"
)

const (
	key    = "k"
	commit = "0123456789abcdef0123456789abcdef01234567"
)

var digest = "sha256:" + strings.Repeat("0", 64)

// served returns options for a run of workflow run 1.
func served(t *testing.T, server *artifactstest.Server) Options {
	t.Helper()
	o, _ := lean(t)
	r, err := artifacts.NewRuntime(artifacts.Options{
		URL: server.URL, Token: artifactstest.Token(1), Retrier: forge.Retrier{Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }},
	})
	assert.NilError(t, err)
	o.Service, o.Query = r, slots.Query{Key: key, Job: slots.Job{RunID: 1}}
	return o
}

// TestStoreReplacesOnlyKnownArtifacts checks that a Store replaces existing artifacts that it was
// told about, and reports a conflict for others. The post phase recognizes the artifact of a killed
// main phase by the digest that the main phase saved before the upload.
func TestStoreReplacesOnlyKnownArtifacts(t *testing.T) {
	base := &checkpoint.Manifest{Generation: 4, RunID: 9, Seq: 2}
	sent := func(digest string) Chain { return Chain{Existing: []artifacts.Artifact{{Digest: digest}}} }
	for name, c := range map[string]struct {
		chain Chain
		begin func(s *Store, existing artifacts.Artifact) error
		want  int // the generation of the first checkpoint; 0 for a conflict
	}{
		"a new run": {Chain{}, func(s *Store, a artifacts.Artifact) error { return s.Begin([]artifacts.Artifact{a}) }, 1},
		"a resumed run": {Chain{}, func(s *Store, a artifacts.Artifact) error {
			return s.Continue(&slots.Found{Manifest: base, Digest: digest, Artifact: a, Existing: []artifacts.Artifact{a}}, Began{Checkout: commit})
		}, 5},
		"a run for which nobody has looked": {Chain{}, func(s *Store, _ artifacts.Artifact) error { return s.Ask() }, 1},
		"nothing said":                      {Chain{}, func(s *Store, _ artifacts.Artifact) error { return s.Begin(nil) }, 0},
		"the post part":                     {sent(digestOf("of before")), nil, 1},
		"the post part, of another content": {sent(digest), nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			server := artifactstest.New(t)
			o := served(t, server)
			o.Chain = c.chain
			s := New(o)
			there := artifacts.Artifact{Name: (slots.Place{Key: key}).Names()[1]}
			there.ID = server.Put(artifactstest.Artifact{Run: 1, Name: there.Name, Content: []byte("of before")})
			if c.begin != nil {
				assert.NilError(t, c.begin(s, there))
				if noted, err := ReadChain(o.Dir); err != nil || noted.Generation != max(0, c.want-1) {
					t.Errorf("noted: got %+v, %v; want generation %d", noted, err, max(0, c.want-1))
				}
			}
			got, err := s.Save(t.Context(), shotIn(o.Dir))
			var conflict *slots.Conflict
			if c.want == 0 {
				assert.Check(t, errors.As(err, &conflict), "got %+v, %v; want a conflict", got, err)
				return
			}
			assert.Assert(t, err == nil && got.SeqStored == 1 && got.Store != "", "got %+v, %v; want step 1", got, err)
			noted, err := ReadChain(o.Dir)
			if err != nil || noted.Generation != c.want || noted.Name != got.Store || noted.Stored != 1 || len(noted.Existing) != 2 {
				t.Errorf("noted: got %+v, %v; want generation %d as %s", noted, err, c.want, got.Store)
			}
			if isResumed := c.want == 5; isResumed != (noted.Base != nil) || isResumed != (noted.Began.Checkout == commit) {
				t.Errorf("noted: got the base %v and %+v", noted.Base, noted.Began)
			}
		})
	}
}

func digestOf(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }

// TestNothingIsStoredUnderALostKey checks that Save stores nothing after the key is lost. If the
// service fails, the saved chain contains the artifact that was being uploaded.
func TestNothingIsStoredUnderALostKey(t *testing.T) {
	server := artifactstest.New(t)
	o := served(t, server)
	s := New(o)
	assert.NilError(t, s.Begin(nil))
	lost := errors.New("lost")
	s.SetCheck(func(context.Context) error { return lost })
	if _, err := s.Save(t.Context(), shotIn(o.Dir)); !errors.Is(err, lost) || len(server.Requests()) > 0 {
		t.Errorf("got %v after %q, want %v and no request", err, server.Requests(), lost)
	}
	s.SetCheck(func(context.Context) error { return nil })
	server.Close()
	_, err := s.Save(t.Context(), shotIn(o.Dir))
	assert.Check(t, err != nil, "without a service: got no error, want one")
	if c, err := ReadChain(o.Dir); err != nil || c.Generation != 0 || len(c.Existing) != 1 || c.Existing[0].Digest == "" {
		t.Errorf("noted: got %+v, %v; want what is being sent", c, err)
	}
}

// TestFullDiskStoresTheStateFromMemory checks that the last snapshot is stored from memory, with
// only its state, if no files can be written, and that a single warning names the cause. Here the
// directories for the files can't be created.
func TestFullDiskStoresTheStateFromMemory(t *testing.T) {
	server := artifactstest.New(t)
	o := served(t, server)
	var told []string
	o.Warn = func(text string) { told = append(told, text) }
	file := filepath.Join(o.Dir, "file")
	write(t, file, "")
	o.Temp, o.Dir = filepath.Join(file, "temp"), filepath.Join(file, "run")
	o.Git = &workspace.Git{Env: os.Environ()}
	s := New(o)
	shot := shotIn(t.TempDir())
	if _, err := s.Save(t.Context(), shot); err == nil || len(server.All()) > 0 {
		t.Fatalf("beside the run: got %v and %d artifacts, want an error and none", err, len(server.All()))
	}
	shot.Last = true
	got, err := s.Save(t.Context(), shot)
	assert.Assert(t, err == nil && got.SeqStored == 1 && s.Chain().Generation == 1, "at the end: got %+v, %v, want it stored", got, err)
	stored := server.All()[0].Content
	m, names := read(t, made{archive: bytes.NewReader(stored), WriteResult: checkpoint.WriteResult{Size: int64(len(stored))}, remove: func() {}})
	want := []checkpoint.Omission{{What: "workspace", Existed: true, Why: checkpoint.NotPacked}}
	assert.Check(t, is.DeepEqual(names, []string{"state.json"}), "stored")
	assert.Check(t, slices.Equal(m.Omissions, want), "stored: got %q, and %v left out", names, m.Omissions)
	if len(told) != 1 || strings.Count(told[0], "not a directory") != 1 || !slices.Equal(s.Notes(), told) {
		t.Errorf("told: got %q and the notes %q, want one warning that has the cause once", told, s.Notes())
	}
}
