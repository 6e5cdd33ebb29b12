//go:build world

package artifacts_test

import (
	zipper "archive/zip"
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/officialtest"
	"github.com/raymond-action/raymond-action/internal/untrusted/archive"
)

// both are our client and the official one, in one job.
type both struct {
	ours   *artifacts.Runtime
	theirs *officialtest.Client
}

func pack(t *testing.T, dir string) []byte {
	t.Helper()
	var zip bytes.Buffer
	w := zipper.NewWriter(&zip)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close()); err != nil {
		t.Fatal(err)
	}
	return zip.Bytes()
}

func unpack(t *testing.T, zip []byte) string {
	t.Helper()
	dir := t.TempDir()
	limits := archive.Limits{Entries: 100, Entry: 1 << 30, Total: 1 << 30}
	if err := archive.Unpack(bytes.NewReader(zip), int64(len(zip)), dir, limits); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestTheOfficialClientSeesTheSame: what the one stores the other lists, reads and deletes.
func TestTheOfficialClientSeesTheSame(t *testing.T) {
	s := artifactstest.New(t)
	b := both{runtimeOf(t, s, 7, &waits{}, nil), officialtest.New(t, s.URL, artifactstest.Token(7))}
	for name, folder := range officialtest.Folders() {
		b.exchange(t, name, folder)
	}
}

// exchange has each of them store a folder and the other one read and delete it.
func (b both) exchange(t *testing.T, name string, folder officialtest.Folder) {
	t.Helper()
	stored, err := upload(t, b.ours, name, pack(t, folder.Write(t)))
	if err != nil {
		t.Fatal(err)
	}
	list, err := b.theirs.List()
	if err != nil || len(list) != 1 || list[0].ID != stored.ID || list[0].Name != name || list[0].Size != stored.Size {
		t.Fatalf("%s: their list: got %+v, %v, want %+v alone", name, list, err, stored)
	}
	to := t.TempDir()
	if err := b.theirs.Download(stored.ID, to); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	folder.Check(t, to)
	if err := b.theirs.Delete(name); err != nil {
		t.Fatal(err)
	}
	told, err := b.theirs.Upload(name, folder.Write(t))
	if err != nil {
		t.Fatal(err)
	}
	all, err := b.ours.List(t.Context(), "")
	if err != nil || len(all) != 1 || all[0].ID != told.ID || all[0].Name != name || all[0].Size != told.Size {
		t.Fatalf("%s: our list: got %+v, %v, want %+v alone", name, all, err, told)
	}
	folder.Check(t, unpack(t, b.read(t, name)))
	if err := b.ours.Delete(t.Context(), all[0]); err != nil {
		t.Fatal(err)
	}
	if left, err := b.theirs.List(); err != nil || len(left) > 0 {
		t.Errorf("%s: their list after our delete: got %+v, %v, want none", name, left, err)
	}
}

// read returns the content of an artifact.
func (b both) read(t *testing.T, name string) []byte {
	t.Helper()
	list, err := b.ours.List(t.Context(), name)
	if err != nil || len(list) != 1 {
		t.Fatalf("%s: got list %+v, %v, want one", name, list, err)
	}
	data, err := download(t, func(f *os.File) (int64, error) { return b.ours.Download(t.Context(), list[0], 1<<30, f) })
	if err != nil {
		t.Fatal(err)
	}
	return data
}
