package acttest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/officialtest"
	"github.com/raymond-action/raymond-action/internal/untrusted/archive"
)

// ownService is act's artifact server as a job of a run sees it: it lives as long
// as the job.
func ownService(t *testing.T) (*artifacts.Runtime, held) {
	t.Helper()
	c := config(t, "")
	c.RunID = 99
	h := waiting(t, c)
	r, err := artifacts.NewRuntime(artifacts.Options{URL: h.URL, Token: h.Token, Act: true})
	if err != nil {
		t.Fatal(err)
	}
	return r, h
}

// TestOfficialClientReadsOursFromAct holds for the newest client too, which can't
// store there.
func TestOfficialClientReadsOursFromAct(t *testing.T) {
	t.Parallel()
	r, h := ownService(t)
	for name, want := range officialtest.Folders() {
		var zip bytes.Buffer
		if err := archive.Pack(&zip, os.DirFS(want.Write(t))); err != nil {
			t.Fatal(err)
		}
		stored, err := r.Upload(t.Context(), artifacts.New{Name: name, Content: bytes.NewReader(zip.Bytes()), Size: int64(zip.Len())})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []officialtest.Version{officialtest.Newest, officialtest.Old} {
			to := t.TempDir()
			if err := officialtest.New(t, v, h.URL, h.Token).Download(stored.ID, to); err != nil {
				t.Errorf("%s, %s: %v", v, name, err)
			}
			want.Check(t, to)
		}
	}
}

func TestWeReadTheOfficialClientsFromAct(t *testing.T) {
	t.Parallel()
	r, h := ownService(t)
	c := officialtest.New(t, officialtest.Old, h.URL, h.Token)
	for name, want := range officialtest.Folders() {
		if _, err := c.Upload(name, want.Write(t)); err != nil {
			t.Fatal(err)
		}
		list, err := r.List(t.Context(), name)
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: got list %+v, %v, want one", name, list, err)
		}
		want.Check(t, fetched(t, r, list[0]))
	}
}

// fetched downloads an artifact and unpacks it into a folder.
func fetched(t *testing.T, r *artifacts.Runtime, a artifacts.Artifact) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "content"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := r.Download(t.Context(), a, 1<<30, f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := archive.Unpack(f, size, dir, archive.Limits{Entries: 100, Entry: 1 << 30, Total: 1 << 30, Ratio: 1000}); err != nil {
		t.Fatal(err)
	}
	return dir
}
