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

// noticeLog reports lines about the cages. It reports each text only once.
type noticeLog struct {
	label func(flag string) string
	info  func(line string)
	warn  func(line string)

	mu    sync.Mutex
	lines []string
}

// maxLines is the maximum number of reported lines. Agents choose the names of hosts in them, so there
// could be any number. The last line reports that further lines are not shown.
const maxLines = 50

// note reports a line, unless it was reported before.
func (t *noticeLog) note(line string) { t.once(line, t.info) }

// once passes a line to tell, unless the line was reported before or maxLines is reached.
func (t *noticeLog) once(line string, tell func(line string)) {
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

// all returns the reported lines.
func (t *noticeLog) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lines)
}

// refusedHost reports that the proxy denied a connection to a host.
func (t *noticeLog) refusedHost(host string) {
	t.note(fmt.Sprintf("cage: refused a connection to %s; if it is needed, add %s to %s", host, host, t.label("network")))
}

// byLibraries are sockets that the C library and other libraries try to use without needing them. Denied
// connections to them are not reported.
var byLibraries = []string{"/run/nscd", "/var/run/nscd", "/run/systemd", "/var/run/systemd", "/dev/log", "/run/avahi-daemon", "/var/run/avahi-daemon"}

// refusedAddress reports that a connection which bypasses the proxy was denied. Without the proxy, only
// the listed ports of this machine can be reached.
func (t *noticeLog) refusedAddress(target string) {
	if strings.HasPrefix(target, "127.0.0.1:") {
		t.refusedHost(target)
		return
	}
	if at, err := netip.ParseAddrPort(target); err == nil && forward.IsMetadata(at.Addr()) {
		t.note(fmt.Sprintf("cage: refused a connection to %s: addresses of cloud metadata can never be reached", target))
		return
	}
	if !strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "@") {
		t.note(fmt.Sprintf("cage: refused a connection to %s that does not use the proxy (HTTPS_PROXY); the hosts in %s can be reached only through it", target, t.label("network")))
		return
	}
	if isIn(target, byLibraries) {
		return
	}
	t.note(fmt.Sprintf("cage: refused the socket %s; Unix sockets connect only processes in the same cage", target))
}
