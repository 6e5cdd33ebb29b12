package artifacts_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/officialtest"
	"github.com/raymond-action/raymond-action/internal/untrusted/archive"
)

func pack(t *testing.T, dir string) []byte {
	t.Helper()
	var zip bytes.Buffer
	if err := archive.Pack(&zip, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return zip.Bytes()
}

func unpack(t *testing.T, zip []byte) string {
	t.Helper()
	dir := t.TempDir()
	limits := archive.Limits{Entries: 100, Entry: 1 << 30, Total: 1 << 30, Ratio: 1000}
	if err := archive.Unpack(bytes.NewReader(zip), int64(len(zip)), dir, limits); err != nil {
		t.Fatal(err)
	}
	return dir
}

// eachOfficial runs a test with each version of the official client, and a server
// that both talk to.
func eachOfficial(t *testing.T, test func(t *testing.T, s *artifactstest.Server, c *officialtest.Client)) {
	t.Helper()
	for _, v := range []officialtest.Version{officialtest.Newest, officialtest.Old} {
		t.Run(string(v), func(t *testing.T) {
			s := artifactstest.New(t)
			test(t, s, officialtest.New(t, v, s.URL, artifactstest.Token(7)))
		})
	}
}

func TestOfficialClientReadsOurs(t *testing.T) {
	eachOfficial(t, func(t *testing.T, s *artifactstest.Server, c *officialtest.Client) {
		r := runtimeOf(t, s, 7, &waits{}, nil)
		for name, want := range officialtest.Folders() {
			stored, err := upload(t, r, name, pack(t, want.Write(t)))
			if err != nil {
				t.Fatal(err)
			}
			to := t.TempDir()
			if err := c.Download(stored.ID, to); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			want.Check(t, to)
		}
	})
}

func TestWeReadTheOfficialClients(t *testing.T) {
	eachOfficial(t, func(t *testing.T, s *artifactstest.Server, c *officialtest.Client) {
		r := runtimeOf(t, s, 7, &waits{}, nil)
		for name, want := range officialtest.Folders() {
			told, err := c.Upload(name, want.Write(t))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			list, err := r.List(t.Context(), name)
			if err != nil || len(list) != 1 || list[0].ID != told.ID || list[0].Size != told.Size {
				t.Fatalf("%s: got list %+v, %v, want %+v alone", name, list, err, told)
			}
			zip, err := download(t, func(f *os.File) (int64, error) { return r.Download(t.Context(), list[0], 1<<30, f) })
			if err != nil {
				t.Fatal(err)
			}
			want.Check(t, unpack(t, zip))
		}
	})
}

// TestBothSeeTheSame: what the one lists and deletes is what the other has stored.
func TestBothSeeTheSame(t *testing.T) {
	eachOfficial(t, func(t *testing.T, s *artifactstest.Server, c *officialtest.Client) {
		r := runtimeOf(t, s, 7, &waits{}, nil)
		small := officialtest.Folder{"a": []byte("x")}
		ours, err := upload(t, r, "ours", pack(t, small.Write(t)))
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := c.Upload("theirs", small.Write(t))
		if err != nil {
			t.Fatal(err)
		}
		list, err := c.List()
		if err != nil || len(list) != 2 {
			t.Fatalf("official list: got %+v, %v, want two", list, err)
		}
		for _, a := range list {
			if a.Name == "ours" && (a.ID != ours.ID || a.Size != ours.Size) || a.Name == "theirs" && a.ID != theirs.ID {
				t.Errorf("official list: got %+v, want the ids %d and %d", list, ours.ID, theirs.ID)
			}
		}
		if err := c.Delete("ours"); err != nil {
			t.Error(err)
		}
		left, err := r.List(t.Context(), "")
		if err != nil || len(left) != 1 || left[0].ID != theirs.ID {
			t.Fatalf("our list after their delete: got %+v, %v, want %d alone", left, err, theirs.ID)
		}
		if err := r.Delete(t.Context(), left[0]); err != nil {
			t.Error(err)
		}
		if list, err := c.List(); err != nil || len(list) != 0 {
			t.Errorf("official list after our delete: got %+v, %v, want none", list, err)
		}
	})
}

// TestRawArtifactsComeBack: since version 7 artifacts need not be archives.
func TestRawArtifactsComeBack(t *testing.T) {
	s := artifactstest.New(t)
	c := officialtest.New(t, officialtest.Newest, s.URL, artifactstest.Token(7))
	want := []byte("no archive\n")
	if _, err := c.UploadRaw(officialtest.Folder{"notes.txt": want}.Write(t)); err != nil {
		t.Fatal(err)
	}
	r := runtimeOf(t, s, 7, &waits{}, nil)
	list, err := r.List(t.Context(), "notes.txt")
	if err != nil || len(list) != 1 {
		t.Fatalf("list: got %+v, %v, want one", list, err)
	}
	got, err := download(t, func(f *os.File) (int64, error) { return r.Download(t.Context(), list[0], 1<<20, f) })
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("content: got %q, %v, want %q", got, err, want)
	}
}
