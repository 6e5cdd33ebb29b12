//go:build linux && (amd64 || arm64)

package cage_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/cage/forward"
)

// outside is a script that tries to connect to a server at PORT and to other hosts, through the proxy
// and directly, over TCP and UDP.
const outside = `
lines() { "$@" 2>&1 | tr '\n' ' '; echo; }
export GIT_TERMINAL_PROMPT=0 GIT_CONFIG_GLOBAL=/dev/null
NO_PROXY= no_proxy= lines git ls-remote http://127.0.0.1:PORT/repo.git
NO_PROXY= no_proxy= lines git ls-remote http://other.example.com/repo.git
lines git ls-remote http://127.0.0.1:PORT/repo.git
lines bash -c 'echo > /dev/tcp/127.0.0.1/PORT'
lines bash -c 'echo > /dev/tcp/169.254.169.254/80'
lines bash -c 'echo > /dev/udp/127.0.0.1/PORT'
lines bash -c 'echo > /dev/tcp/127.0.0.1/1'
`

// TestProxyIsTheOnlyWayOut checks that a caged script reaches a listed host through the proxy, and that
// all its other connections are denied.
func TestProxyIsTheOnlyWayOut(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/repo.git/HEAD":
			fmt.Fprintln(w, "ref: refs/heads/main")
		case "/repo.git/info/refs":
			fmt.Fprintf(w, "%040d\trefs/heads/main\n", 1)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	u, err := url.Parse(server.URL)
	assert.NilError(t, err)
	var lock sync.Mutex
	var refused []string
	report := func(target string) {
		lock.Lock()
		defer lock.Unlock()
		refused = append(refused, target)
	}
	list, err := forward.Parse(u.Host)
	assert.NilError(t, err)
	proxy, err := forward.Start(forward.Options{List: list, OnRefused: report})
	assert.NilError(t, err)
	defer proxy.Close()
	for _, v := range forward.Env(list, proxy.Port()) {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	t.Setenv("HOME", t.TempDir())
	network := cage.Network{Ports: []uint16{proxy.Port()}, OnRefused: report}
	script := strings.ReplaceAll(outside, "PORT", u.Port())
	output := strings.Split(runCaged(t, cage.Policy{Network: network, Writable: []string{os.DevNull}}, "bash", "-c", script), "\n")
	want := []string{"refs/heads/main", "403", "to connect", "Permission denied", "Permission denied", "Permission denied", "Connection refused", ""}
	for i, line := range output {
		if len(output) != len(want) || !strings.Contains(line, want[i]) {
			t.Fatalf("line %d of %d: got %q, want %q", i, len(output), line, want[i])
		}
	}
	lock.Lock()
	defer lock.Unlock()
	assert.Check(t, is.DeepEqual(slices.Compact(refused), []string{"other.example.com:80", u.Host, "169.254.169.254:80"}), "refused targets")
}
