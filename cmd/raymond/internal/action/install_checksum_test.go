//go:build unix && world

package action

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner/claude"
)

// TestTamperedPackageIsNotInstalled checks that npm rejects files of a registry that differ from
// the pinned version, by the checksums of the lock file, and that the tool cache stays empty.
func TestTamperedPackageIsNotInstalled(t *testing.T) {
	asked := make(chan string, 100)
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		if strings.HasSuffix(r.URL.Path, ".tgz") {
			_, _ = w.Write([]byte("another program"))
			return
		}
		name := strings.TrimPrefix(r.URL.Path, "/")
		version := map[string]any{"name": name, "version": claude.Pin.Version(), "dist": map[string]string{"tarball": "http://" + r.Host + "/" + name + "/-/x.tgz"}}
		_ = json.NewEncoder(w).Encode(map[string]any{"name": name, "versions": map[string]any{claude.Pin.Version(): version}})
	}))
	defer registry.Close()
	home := t.TempDir()
	c := installation{pin: claude.Pin, isCaged: true, cache: t.TempDir(), env: append(os.Environ(), "HOME="+home, "npm_config_userconfig="+filepath.Join(home, "npmrc"),
		"npm_config_registry="+registry.URL, "npm_config_fetch_retries=0", "npm_config_cache="+filepath.Join(home, "cache"), "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")}
	path, err := c.Install(t.Context(), func(string) {})
	assert.Check(t, is.ErrorContains(err, "EINTEGRITY"), "installation from a registry with other files: got %q, want an error about their checksums", path)
	assert.Check(t, len(asked) != 0, "requests to the registry: got none, want some")
	left, _ := filepath.Glob(filepath.Join(c.cache, "*/*/*"))
	assert.Check(t, is.Len(left, 0), "tool cache after it")
}
