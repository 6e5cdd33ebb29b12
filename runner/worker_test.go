package runner

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/protocol"
)

// TestPayloadFileHasOnlyPayload checks that the payload replaces whatever is at the path of its
// file, and that a link there is not followed.
func TestPayloadFileHasOnlyPayload(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "1"), filepath.Join(dir, "other")
	assert.NilError(t, os.WriteFile(other, []byte("content of another file"), 0o600))
	var got string
	w := worker{cfg: &Config{Scripts: backendFunc(func(o Order) {
		data, err := os.ReadFile(o.Script.PayloadFile)
		assert.NilError(t, err)
		got = string(data)
	})}}
	for _, left := range []func() error{
		func() error { return os.MkdirAll(filepath.Join(path, "folder"), 0o700) },
		func() error { return os.Symlink(other, path) },
	} {
		assert.NilError(t, left())
		_, err := w.invoke(t.Context(), Order{Kind: protocol.Script, Dir: dir, Script: ScriptOrder{Path: other, PayloadFile: path, Files: map[string]string{path: "payload"}}}, nil)
		assert.NilError(t, err)
		assert.Equal(t, got, "payload")
		if got, err := os.ReadFile(other); err != nil || string(got) != "content of another file" {
			t.Errorf("a file that a link led to: got %q, %v, want it as it was", got, err)
		}
	}
}

// TestTrustedScriptsHaveOwnFolders checks that a trusted script gets the agents' work and new
// folders, even if the agent's directory is gone. The folders must be removed afterwards.
func TestTrustedScriptsHaveOwnFolders(t *testing.T) {
	own := t.TempDir()
	var got Order
	work := Work{Dir: "/work", OtherDirs: map[string]string{"main_fix1": "/other"}, Since: time.Unix(1, 0)}
	w := worker{cfg: &Config{
		TrustedDir: own,
		Scripts: backendFunc(func(o Order) {
			got = o
			for _, folder := range append(valuesOf(o.Env, "HOME", "TMPDIR", "TMP", "TEMP"), o.Dir) {
				if left, err := os.ReadDir(folder); err != nil || len(left) > 0 || !strings.HasPrefix(folder, own) {
					t.Errorf("%s: got %v, %v, want an empty folder below %s", folder, left, err, own)
				}
			}
		}),
		HandOver: func(_ context.Context, w Work, to string) (HandOver, error) {
			if w.Dir != work.Dir || w.Since != work.Since || w.OtherDirs["main_fix1"] != "/other" {
				t.Errorf("handed over: got %+v, want %+v", w, work)
			}
			return HandOver{Repository: filepath.Join(to, "work.git"), OmissionsFile: filepath.Join(to, "lacks")}, nil
		},
	}}
	o := Order{Kind: protocol.Script, Dir: "/gone", Script: ScriptOrder{Path: filepath.Join(own, "PUSH.sh"), IsTrusted: true, Work: &work}, Cage: &cage.Cage{}}
	_, err := w.invoke(t.Context(), o, nil)
	assert.NilError(t, err)
	if got := valuesOf(got.Env, "RAYMOND_WORK", "RAYMOND_WORK_LACKS"); !slices.Equal([]string{filepath.Base(got[0]), filepath.Base(got[1])}, []string{"work.git", "lacks"}) {
		t.Errorf("got %q, want the repository and the list", got)
	}
	if left, err := os.ReadDir(own); err != nil || len(left) > 0 {
		t.Errorf("afterwards: got %v, %v, want nothing left", left, err)
	}
}

// backendFunc is a backend that only passes its orders to a function.
type backendFunc func(Order)

// Run implements Backend.
func (b backendFunc) Run(_ context.Context, o Order, _ func(Progress)) (Answer, error) {
	b(o)
	return Answer{}, nil
}

// valuesOf returns the values of variables in an environment. The value of a missing one is "".
func valuesOf(environ []string, names ...string) []string {
	values := make([]string, len(names))
	for i, name := range names {
		for _, kv := range environ {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				values[i] = v
			}
		}
	}
	return values
}
