package checkpoint_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

const (
	session = "0f8fad5b-d9cb-469f-a165-70867728950e"
	other   = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
)

// manifest returns a manifest in which most fields are set.
func manifest() checkpoint.Manifest {
	digest := "sha256:" + strings.Repeat("ab", 32)
	return checkpoint.Manifest{
		RepositoryID: 42, Repository: "o/r", Workflow: ".github/workflows/x.yml", Key: "x.yml-main", WorkflowID: "x-yml-main-0123abcd",
		Generation: 7, Previous: digest, Base: &checkpoint.Base{ArtifactID: 9, Digest: digest, RunID: 8},
		RunID: 10, RunAttempt: 2, Job: "build", Event: "issues", Number: 3,
		Status: state.Suspended, Reason: "out of quota", Seq: 12, TotalUSD: state.Dollar / 3, Iterations: 4,
		Dirs:      checkpoint.MachineDirs{Workspace: "/home/runner/work/r/r", Temp: "/home/runner/work/_temp", OS: "linux"},
		Omissions: []checkpoint.Omission{{What: "workspace", Existed: true, Why: checkpoint.NoKey}},
		Created:   time.Date(2026, 5, 4, 3, 2, 1, 5e6, time.UTC), Program: "v1.2.3",
	}
}

// threadID is the id that the agent CLI itself uses for the session.
const threadID = "01999999-0000-7000-8000-00000000000a"

// writing returns a request for a small checkpoint that contains every kind of file.
func writing(keys *checkpoint.Keys) checkpoint.WriteRequest {
	m := manifest()
	m.Transcripts = []checkpoint.Transcript{{Session: session, Backend: protocol.BackendCodex, CLIID: threadID, Dir: "/home/runner/work/r/r"}}
	return checkpoint.WriteRequest{Manifest: m, Keys: keys, Entries: []checkpoint.Entry{
		{Name: "state.json", Data: []byte(`{"schema": 1}`)},
		{Name: "events.jsonl", Data: []byte("{}\n{}\n")},
		{Name: "logs/main/A.sh.log", Data: []byte("ok\n")},
		{Name: checkpoint.Transcript{Backend: protocol.BackendCodex, Session: session}.Name(), Data: []byte(`{"type":"user"}`)},
		{Name: "workspace/index.json", Data: []byte("[]")},
		{Name: "workspace/0.bundle", Data: []byte("# v2 git bundle")},
	}}
}

// newKeys generates n keys. It also returns their texts.
func newKeys(t testing.TB, n int) (*checkpoint.Keys, []string) {
	t.Helper()
	var lines []string
	for range n {
		line, err := checkpoint.NewKey()
		assert.NilError(t, err)
		lines = append(lines, line)
	}
	return parseKeys(t, lines...), lines
}

func parseKeys(t testing.TB, lines ...string) *checkpoint.Keys {
	t.Helper()
	keys, err := checkpoint.ParseKeys(strings.Join(lines, "\n"))
	assert.NilError(t, err)
	return keys
}

// write writes a checkpoint, checks the result, and returns the archive's bytes.
func write(t testing.TB, w checkpoint.WriteRequest) ([]byte, checkpoint.WriteResult) {
	t.Helper()
	data, written, err := tryWrite(w)
	assert.NilError(t, err)
	assert.Equal(t, written.Size, int64(len(data)), "want the size of the file")
	sum := sha256.Sum256(data)
	assert.Equal(t, written.SHA256, "sha256:"+hex.EncodeToString(sum[:]), "digest: want the digest of the file")
	return data, written
}

// tryWrite is like write, but returns the error.
func tryWrite(w checkpoint.WriteRequest) ([]byte, checkpoint.WriteResult, error) {
	var to bytes.Buffer
	written, err := checkpoint.Write(&to, w)
	return to.Bytes(), written, err
}

// result contains the results of Read, and the unpacked files.
type result struct {
	manifest checkpoint.Manifest
	digest   string
	files    map[string]string
	err      error
}

// read reads a checkpoint. It checks that the unpacked files are private and match the manifest, and that Read
// writes only into its directory.
func read(t testing.TB, data []byte, keys *checkpoint.Keys) result {
	t.Helper()
	parent := t.TempDir()
	dir, archive := filepath.Join(parent, "in"), filepath.Join(parent, "archive")
	assert.NilError(t, errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(archive, data, 0o600)))
	f, err := os.Open(archive)
	assert.NilError(t, err)
	defer f.Close()
	var r result
	r.manifest, r.digest, r.err = checkpoint.Read(checkpoint.ReadRequest{File: f, Size: int64(len(data)), Keys: keys, Dir: dir})
	r.files = map[string]string{}
	assert.NilError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		assert.NilError(t, err)
		assert.Check(t, info.Mode() == 0o600 || runtime.GOOS == "windows", "mode of %q: got %v", name, info.Mode())
		data, err := os.ReadFile(filepath.Join(dir, name))
		r.files[name] = string(data)
		return err
	}))
	beside, _ := os.ReadDir(parent)
	assert.Assert(t, is.Len(beside, 2), "beside the folder")
	if r.err == nil {
		assert.Assert(t, is.DeepEqual(r.manifest.Files, listed(r.files)), "files and manifest")
	}
	return r
}

// listed returns the list of files that a manifest must contain for some contents.
func listed(files map[string]string) []checkpoint.File {
	list := []checkpoint.File{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sum := sha256.Sum256([]byte(files[name]))
		list = append(list, checkpoint.File{Name: name, Size: int64(len(files[name])), SHA256: hex.EncodeToString(sum[:])})
	}
	return list
}

// TestRoundTrip checks that Read returns what Write wrote, for sealed and plain checkpoints, and for
// entries from files and from memory.
func TestRoundTrip(t *testing.T) {
	keys, _ := newKeys(t, 1)
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		w := writing(nil)
		if seed%2 == 0 {
			w.Keys = keys
		}
		want := map[string]string{}
		for i := range w.Entries {
			p := &w.Entries[i]
			random := make([]byte, rnd.IntN(100_000))
			for i := range random {
				random[i] = byte(rnd.Uint32())
			}
			p.Data = [][]byte{
				nil, random, bytes.Repeat([]byte("{\"type\":\"assistant\"}\n"), rnd.IntN(10_000)),
				bytes.Repeat([]byte{0}, rnd.IntN(4<<20)), []byte("\xff\xfe\x00 half a rune: \xe2\x82"),
			}[rnd.IntN(5)]
			if seed == 0 && i == 0 {
				p.Data = noise(5 << 20)
			}
			want[p.Name] = string(p.Data)
			if rnd.IntN(2) == 0 {
				p.Path, p.Size = filepath.Join(t.TempDir(), "part"), -1
				assert.NilError(t, os.WriteFile(p.Path, p.Data, 0o600))
				p.Data = nil
			}
		}
		rnd.Shuffle(len(w.Entries), func(i, j int) { w.Entries[i], w.Entries[j] = w.Entries[j], w.Entries[i] })
		data, written := write(t, w)
		got := read(t, data, w.Keys)
		assert.NilError(t, got.err, "seed %d", seed)
		wantManifest := w.Manifest
		wantManifest.Schema, wantManifest.Files = checkpoint.Schema, listed(want)
		assert.Check(t, is.DeepEqual(got.manifest, wantManifest), "seed %d: manifest", seed)
		if diff := cmp.Diff(written.Manifest, got.manifest); diff != "" || written.Digest != got.digest {
			t.Errorf("seed %d: digests %s and %s, manifest (-written +read):\n%s", seed, written.Digest, got.digest, diff)
		}
		assert.Check(t, is.DeepEqual(want, got.files), "seed %d", seed)
	}
}

// noise returns n pseudo-random bytes, which can't be compressed.
func noise(n int) []byte {
	data, _ := io.ReadAll(io.LimitReader(rand.NewChaCha8([32]byte{1}), int64(n)))
	return data
}

// TestGrowingFiles checks that Write stores only the first Size bytes of a growing file, and returns an
// error if the file is shorter.
func TestGrowingFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	assert.NilError(t, os.WriteFile(path, []byte("{}\n{}\n{\"half"), 0o600))
	for _, tt := range []struct {
		size int64
		want string
	}{{-1, "{}\n{}\n{\"half"}, {6, "{}\n{}\n"}, {0, ""}} {
		data, _ := write(t, only(checkpoint.Entry{Name: "events.jsonl", Path: path, Size: tt.size}))
		if got := read(t, data, nil); got.err != nil || got.files["events.jsonl"] != tt.want {
			t.Errorf("size %d: got %q, %v, want %q", tt.size, got.files, got.err, tt.want)
		}
	}
	if _, _, err := tryWrite(only(checkpoint.Entry{Name: "events.jsonl", Path: path, Size: 100})); err == nil || !strings.Contains(err.Error(), `"events.jsonl"`) {
		t.Errorf("100 bytes of a file of 12 bytes: got %v, want an error that names it", err)
	}
}

// TestMaskCoversAllButBundles checks that secrets are masked in every entry except git bundles, and in the
// manifest's reason and title.
func TestMaskCoversAllButBundles(t *testing.T) {
	const secret = "hunter2hunter2"
	stars := strings.Repeat("*", len(secret))
	w := writing(nil)
	w.Manifest.Reason = "the key " + secret + " is out of money \xff"
	w.Manifest.Title = "why " + secret
	w.Mask = func(r io.Reader) io.Reader {
		data, err := io.ReadAll(r)
		assert.Check(t, err)
		return strings.NewReader(strings.ReplaceAll(string(data), secret, stars))
	}
	for i := range w.Entries {
		w.Entries[i].Data = []byte("a " + secret + " b")
	}
	w.Entries = append(w.Entries, checkpoint.Entry{Name: "logs/some.bundle", Data: []byte("a " + secret + " b")})
	data, _ := write(t, w)
	got := read(t, data, nil)
	assert.Check(t, got.err, "reason")
	assert.Check(t, is.Equal(got.manifest.Reason, "the key "+stars+" is out of money \uFFFD"), "reason")
	for name, content := range got.files {
		want := "a " + stars + " b"
		if name == "workspace/0.bundle" {
			want = "a " + secret + " b"
		}
		assert.Check(t, is.Equal(content, want), name)
	}
}

// TestWriteRefuses checks that Write rejects everything that Read would reject, and reads neither links nor
// directories.
func TestWriteRefuses(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	assert.NilError(t, errors.Join(os.WriteFile(file, []byte("secret"), 0o600), os.Symlink(file, link)))
	huge := filepath.Join(dir, "huge")
	assert.NilError(t, errors.Join(os.WriteFile(huge, nil, 0o600), os.Truncate(huge, 256<<20+1)))
	many := writing(nil)
	for i := range 2000 {
		many.Entries = append(many.Entries, checkpoint.Entry{Name: "logs/" + strings.Repeat("x", i%200) + string(rune('a'+i/200))})
	}
	for name, tt := range map[string]struct {
		w    checkpoint.WriteRequest
		want error
	}{
		"a link":           {with(checkpoint.Entry{Name: "logs/x", Path: link, Size: -1}), nil},
		"a folder":         {with(checkpoint.Entry{Name: "logs/x", Path: dir, Size: -1}), nil},
		"a name":           {with(checkpoint.Entry{Name: "../x"}), nil},
		"twice":            {with(checkpoint.Entry{Name: "state.json"}), nil},
		"transcript":       {with(checkpoint.Entry{Name: checkpoint.Transcript{Backend: "claude", Session: other}.Name()}), nil},
		"too large":        {with(checkpoint.Entry{Name: "logs/x", Path: huge, Size: -1}), checkpoint.ErrTooLarge},
		"state too large":  {only(checkpoint.Entry{Name: "state.json", Path: huge, Size: 64<<20 + 1}), checkpoint.ErrTooLarge},
		"memory too large": {only(checkpoint.Entry{Name: "state.json", Data: make([]byte, 64<<20+1)}), checkpoint.ErrTooLarge},
		"too many":         {many, checkpoint.ErrTooLarge},
	} {
		if _, _, err := tryWrite(tt.w); err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want an error (%v)", name, err, tt.want)
		}
	}
}

// TestWriteObeysItsLimits checks the limit on the archive and the limit on all files together.
func TestWriteObeysItsLimits(t *testing.T) {
	keys, _ := newKeys(t, 1)
	const manifestRoom = 4<<20 + 4<<10
	for _, k := range []*checkpoint.Keys{nil, keys} {
		w := only(checkpoint.Entry{Name: "logs/a", Data: noise(100_000)}, checkpoint.Entry{Name: "logs/b", Data: make([]byte, 100_000)})
		w.Keys = k
		data, _ := write(t, w)
		size := int64(len(data))
		for _, tt := range []struct {
			packed, total int64
			want          error
		}{
			{size, 200_000 + manifestRoom, nil},
			{size, 199_999 + manifestRoom, checkpoint.ErrTooLarge},
			{size - 1, 200_000 + manifestRoom, checkpoint.ErrTooLarge},
		} {
			assert.Check(t, is.ErrorIs(checkpoint.WriteWithin(io.Discard, w, tt.packed, tt.total), tt.want), "within %d and %d bytes", tt.packed, tt.total)
		}
	}
}

// with returns the request of writing(nil) with additional entries.
func with(entries ...checkpoint.Entry) checkpoint.WriteRequest {
	w := writing(nil)
	w.Entries = append(w.Entries, entries...)
	return w
}

// only returns a request that contains only the given entries.
func only(entries ...checkpoint.Entry) checkpoint.WriteRequest {
	return checkpoint.WriteRequest{Manifest: manifest(), Entries: entries}
}
