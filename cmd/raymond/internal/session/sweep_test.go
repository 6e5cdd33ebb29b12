//go:build linux

package session_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
)

// deserter is a command that leaves a process in a session of its own, with no
// parent and none of its files, and writes that one's id to a file. Then it waits.
const deserter = `(setsid bash -c 'echo $$ >deserter.tmp; mv deserter.tmp deserter; exec sleep 300' </dev/null >/dev/null 2>&1 &); sleep 300`

// deserted waits for the process that the deserter leaves and returns its id.
func (s *site) deserted(j *sitetest.Command) int {
	s.T.Helper()
	j.Until("a process that leaves", func() bool { return len(s.Lines("deserter")) == 1 })
	pid, err := strconv.Atoi(s.Lines("deserter")[0])
	if err != nil {
		s.T.Fatal(err)
	}
	if !sitetest.Alive(pid) {
		s.T.Fatalf("process %d that left: got it dead, want it alive before the kill", pid)
	}
	return pid
}

// watched puts a witness between the agent CLI and api, that is called when a
// request for a message arrives, before anybody answers it.
func (s *site) watched(api *claudetest.Server, witness func()) {
	s.T.Helper()
	to, err := url.Parse(api.URL)
	if err != nil {
		s.T.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/messages") {
			witness()
		}
		proxy.ServeHTTP(w, r)
	}))
	s.T.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	s.Env = append(s.Env, "ANTHROPIC_BASE_URL="+front.URL)
}

// encounters notes, for each request after arm, whether a process was alive.
type encounters struct {
	mu  sync.Mutex // guards the rest
	pid int
	met []bool
}

func (e *encounters) arm(pid int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pid = pid
}

func (e *encounters) note() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pid != 0 {
		e.met = append(e.met, sitetest.Alive(e.pid))
	}
}

func (e *encounters) all() []bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.met
}

// TestContractToolThatLeftIsGoneBeforeTheNextPrompt kills the orchestrator alone: what an
// agent's tool left must not work on beside its successor, and what the agent
// CLI wrote on its own way out must not be seen by it.
func TestContractToolThatLeftIsGoneBeforeTheNextPrompt(t *testing.T) {
	t.Parallel()
	api := claudetest.NewServer(t,
		claudetest.On("Prompt one.", claudetest.Say("<goto>TWO.md</goto>")),
		claudetest.Rule{Match: "Prompt two.", FailFirst: 1, Fail: claudetest.Do(claudetest.Bash(deserter)),
			Steps: []claudetest.Reply{claudetest.Say("<result>done</result>")}},
	)
	s := newRealSite(t, twoPrompts, api)
	var e encounters
	s.watched(api, e.note)
	j := s.Start(s.RunArgs("--allowed-tools", "Bash")...)
	e.arm(s.deserted(j))
	j.Kill()
	s.Resume(0)
	if d := cmp.Diff([]bool{false}, e.all()); d != "" {
		t.Errorf("process of the tool alive when prompts came after the kill (-want +got):\n%s", d)
	}
	want := sitetest.Spoken("Prompt one.\n", "<goto>TWO.md</goto>", "Prompt two.\n")
	if got := sitetest.InterruptionNote.ReplaceAllString(sitetest.Seen(t, api, "Prompt two."), ""); got != want {
		t.Errorf("after the kill the model saw\n%swant\n%s", got, want)
	}
}

// TestProcessOfAScriptIsGoneBeforeItRunsAgain is the same for a script.
func TestProcessOfAScriptIsGoneBeforeItRunsAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, `
-- 1_START.sh --
echo "<goto>DESERT.sh</goto>"
-- DESERT.sh --
if [ -e deserter ]; then
	# A process that has died may wait for a while until its parent takes note.
	if grep -q '^State:.[^ZX]' "/proc/$(cat deserter)/status"; then echo "<result>it lives</result>"; else echo "<result>it is gone</result>"; fi
	exit
fi
`+deserter+"\n")
	j := s.Start(s.RunArgs()...)
	s.deserted(j)
	j.Kill()
	if o := s.Resume(0); o.Stdout != "it is gone\n" {
		t.Errorf("what the script found when it ran again: got %v, want %q", o, "it is gone\n")
	}
}
