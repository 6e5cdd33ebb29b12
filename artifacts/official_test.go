//go:build world

package artifacts_test

import (
	zipper "archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/fstest"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/internal/installtest"
)

// official runs the official artifact client in the environment of a job in workflow run 7.
type official struct {
	t   *testing.T
	cmd []string
	env []string
}

// do lets the client perform one action and decodes its answer into to.
func (o official) do(what map[string]any, to any) {
	o.t.Helper()
	input, err := json.Marshal(what)
	assert.NilError(o.t, err)
	answer := filepath.Join(o.t.TempDir(), "answer")
	cmd := exec.CommandContext(o.t.Context(), o.cmd[0], append(o.cmd[1:], answer)...)
	cmd.Env, cmd.Stdin = o.env, bytes.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		o.t.Fatalf("%v: %v\n%s", what, err, out)
	}
	data, err := os.ReadFile(answer)
	result := struct {
		OK    any    `json:"ok"`
		Error string `json:"error"`
	}{OK: to}
	if err := errors.Join(err, json.Unmarshal(data, &result)); err != nil || result.Error != "" {
		o.t.Fatalf("%v: %v %s", what, err, result.Error)
	}
}

// clientArtifact is an artifact as the official client prints it.
type clientArtifact struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	Size int64  `json:"size"`
}

func (o official) list() (list []clientArtifact) {
	o.do(map[string]any{"action": "list"}, &list)
	return list
}

// TestOfficialClientIsCompatible checks that this package's client and the official client list, read and
// delete artifacts of the other client. Some contents are smaller and some are larger than an upload block
// of 8 MiB.
func TestOfficialClientIsCompatible(t *testing.T) {
	s := artifactstest.New(t)
	pins := installtest.NPM{Name: "artifact-v6", Files: os.DirFS("testdata/official"), Dir: "artifacts/testdata/official"}
	theirs := official{t, []string{installtest.Node(t), "testdata/official/drive.mjs", pins.Install(t)}, []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "RUNNER_TEMP=" + t.TempDir(), "GITHUB_WORKSPACE=" + t.TempDir(),
		"ACTIONS_RESULTS_URL=" + s.URL, "ACTIONS_RUNTIME_TOKEN=" + artifactstest.Token(7),
		// With any other server, the client assumes GitHub Enterprise Server and reports an error.
		"GITHUB_SERVER_URL=https://github.com",
	}}
	ours := runtimeOf(t, s)
	noise := make([]byte, 17<<20)                   // random bytes, which can't be compressed
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise) // never fails
	for name, files := range map[string]map[string]string{
		"nothing in it":         {"empty": ""},
		"raymond-größe-日本語 (1)": {"state.json": "{}", "logs/ä/日本.jsonl": string(noise[:70_000])},
		"blocks":                {"a": string(noise[:8<<20+1]), "b/c": string(noise[8<<20:])},
	} {
		root, tree := t.TempDir(), fstest.MapFS{}
		for path, content := range files {
			tree[path] = &fstest.MapFile{Data: []byte(content), Mode: 0o600}
		}
		var zip bytes.Buffer
		w := zipper.NewWriter(&zip)
		assert.NilError(t, errors.Join(os.CopyFS(root, tree), w.AddFS(tree), w.Close()))
		stored, err := upload(t, ours, name, zip.Bytes())
		if list := theirs.list(); err != nil || len(list) != 1 || list[0] != (clientArtifact{stored.ID, name, stored.Size}) {
			t.Fatalf("%s: their list: got %+v, %v, want %+v alone", name, list, err, stored)
		}
		to := t.TempDir()
		theirs.do(map[string]any{"action": "download", "id": stored.ID, "root": to}, &struct{}{})
		checkFiles(t, name+", read by them", os.DirFS(to), files)
		theirs.do(map[string]any{"action": "delete", "name": name}, &struct{}{})

		var again clientArtifact
		theirs.do(map[string]any{"action": "upload", "name": name, "root": root}, &again)
		all, err := ours.List(t.Context(), "")
		if err != nil || len(all) != 1 || all[0].ID != again.ID || all[0].Name != name || all[0].Size != again.Size {
			t.Fatalf("%s: our list: got %+v, %v, want %+v alone", name, all, err, again)
		}
		data, err := download(t, func(f *os.File) (int64, error) { return ours.Download(t.Context(), all[0], 1<<30, f) })
		assert.NilError(t, err)
		z, err := zipper.NewReader(bytes.NewReader(data), int64(len(data)))
		assert.NilError(t, err)
		checkFiles(t, name+", read by us", z, files)
		if err := ours.Delete(t.Context(), all[0]); err != nil || len(theirs.list()) > 0 {
			t.Errorf("%s: after our delete they list %+v (%v), want none", name, theirs.list(), err)
		}
	}
}

// checkFiles checks that a file tree contains exactly the wanted files.
func checkFiles(t *testing.T, what string, tree fs.FS, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(tree, name)
		got[name] = string(data)
		return err
	})
	assert.Check(t, err == nil && maps.Equal(got, want), "%s: got %d files (%v), want %d with the right bytes", what, len(got), err, len(want))
}
