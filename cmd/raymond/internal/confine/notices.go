package confine

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/raymond-action/raymond-action/internal/cage/forward"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// told is what people were told of the cages, each line once.
type told struct {
	label func(flag string) string
	tell  func(line string)
	loud  func(line string)

	mu    sync.Mutex
	lines []string
}

// maxLines bounds what is told: agents choose the names of hosts. The last line says so.
const maxLines = 50

// note tells a line, unless it was told already.
func (t *told) note(line string) { t.once(line, t.tell) }

func (t *told) once(line string, tell func(line string)) {
	line = text.Escape(line)
	t.mu.Lock()
	isNew := !slices.Contains(t.lines, line) && len(t.lines) < maxLines
	if isNew && len(t.lines) == maxLines-1 {
		line = "cage: no further refusals are shown"
	}
	if isNew {
		t.lines = append(t.lines, line)
	}
	t.mu.Unlock()
	if isNew {
		tell(line)
	}
}

// all returns the lines.
func (t *told) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lines)
}

// refusedHost tells that the proxy refused a host.
func (t *told) refusedHost(host string) {
	t.note(fmt.Sprintf("cage: refused a connection to %s; if it is needed, add %s to %s", host, host, t.label("network")))
}

// byLibraries are sockets that the C library and others ask on their own account,
// without need.
var byLibraries = []string{"/run/nscd", "/var/run/nscd", "/run/systemd", "/var/run/systemd", "/dev/log", "/run/avahi-daemon", "/var/run/avahi-daemon"}

// refusedAddress tells that a connection past the proxy was refused. Ports of this
// machine that are listed are reached without it.
func (t *told) refusedAddress(target string) {
	if strings.HasPrefix(target, "127.0.0.1:") {
		t.refusedHost(target)
		return
	}
	if at, err := netip.ParseAddrPort(target); err == nil && forward.IsMetadata(at.Addr()) {
		t.note(fmt.Sprintf("cage: refused a connection to %s: addresses such as those of a cloud's metadata are never reached", target))
		return
	}
	if !strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "@") {
		t.note(fmt.Sprintf("cage: refused a connection to %s that does not use the proxy (HTTPS_PROXY); the hosts in %s are reached through that alone", target, t.label("network")))
		return
	}
	if isIn(target, byLibraries) {
		return
	}
	t.note(fmt.Sprintf("cage: refused the socket %s; unix sockets lead only to processes of the same cage", target))
}
