//go:build linux

package session_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// unruly is an agent CLI that misbehaves when it is first asked, and answers then.
const unruly = `#!/bin/bash
case "$*" in *--version*) echo "2.1.197 (stub)"; exit ;; esac
id=$(printf '%%s\n' "$@" | grep -A1 -x -e --session-id -e --resume | tail -n 1)
printf '{"agent":"%%s","state":"%%s"}\n' "$RAYMOND_AGENT_ID" "$RAYMOND_STATE" >>"$SIDE_EFFECTS"
begin() { printf '{"type":"system","subtype":"init","session_id":"%%s","model":"stub"}\n' "$id"; }
answer() {
	begin
	printf '{"type":"assistant","message":{"id":"m","model":"stub","content":[{"type":"text","text":"<result>fine</result>"}]}}\n'
	printf '{"type":"result","subtype":"success","is_error":false,"result":"<result>fine</result>","num_turns":1,"session_id":"%%s","total_cost_usd":0.01}\n' "$id"
}
if [ ! -e "$SIDE_EFFECTS.once" ]; then
	touch "$SIDE_EFFECTS.once"
	%s
	exit
fi
cat >/dev/null
answer
`

// misdeeds are what the agent CLI does when it is first asked.
var misdeeds = map[string]string{
	"says nothing":                       `exec sleep 300`,
	"ignores signals":                    `trap '' INT TERM HUP; while :; do sleep 0.1; done`,
	"stays after its answer":             `answer; trap '' INT TERM; while :; do sleep 0.1; done`,
	"does not read its prompt":           `answer`,
	"stops in the middle":                `begin; kill -STOP $$`,
	"dies":                               `begin; kill -9 $$`,
	"dies of a fault":                    `begin; kill -SEGV $$`,
	"fails after its answer":             `answer; exit 3`,
	"has no answer":                      `begin`,
	"closes its output":                  `begin; exec >&- 2>&-; sleep 300`,
	"leaves a daemon":                    `(setsid env -i /bin/sh -c 'exec sleep 300' >/dev/null 2>&1 &); answer`,
	"leaves a daemon that holds a pipe":  `(setsid bash -c 'trap "" INT TERM; sleep 300' &); answer`,
	"leaves a daemon of a daemon":        `(setsid env -i /bin/sh -c '(setsid sleep 300 &) ; exec sleep 300' >/dev/null 2>&1 &); answer`,
	"writes lines without end":           `begin; yes '{"type":"noise","text":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}' | head -c 60000000; answer`,
	"writes a line without end":          `begin; head -c 60000000 /dev/zero | tr '\0' a; echo; answer`,
	"writes to stderr without end":       `begin; yes error | head -c 60000000 >&2; answer`,
	"writes what is no text":             `begin; head -c 100000 /dev/urandom; echo; printf '\0\r\r\377\n'; answer`,
	"writes what is nested deeply":       `begin; printf '{"type":"assistant","message":'; head -c 5000000 /dev/zero | tr '\0' '['; echo; answer`,
	"answers with ten megabytes of tags": `begin; printf '{"type":"result","subtype":"success","is_error":false,"session_id":"%s","result":"' "$id"; yes '<goto>X</goto>' | head -c 10000000 | tr -d '\n'; echo '"}'`,
}

// peak is the largest memory of some processes, in KiB.
type peak struct {
	mu   sync.Mutex // guards the rest
	most int64
	name string
}

func (p *peak) note(name string, j *sitetest.Command) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u, ok := j.Cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && u.Maxrss > p.most {
		p.most, p.name = u.Maxrss, name
	}
}

// TestAgentsThatMisbehave hang, flood, die and leave things behind: each run comes to its
// end, in little memory, and the invariants hold.
func TestAgentsThatMisbehave(t *testing.T) {
	t.Parallel()
	var memory peak
	t.Run("agents", func(t *testing.T) {
		for name, misdeed := range misdeeds {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := plainSite(t, "-- START.md --\nDo it.\n")
				cli := filepath.Join(s.Flow, "..", "claude")
				s.Write(cli, fmt.Sprintf(unruly, misdeed))
				if err := syscall.Chmod(cli, 0o755); err != nil {
					t.Fatal(err)
				}
				s.Env = append(s.Env, "RAYMOND_CLAUDE="+cli)
				j := s.Start(s.RunArgs("--timeout", "4s", "--idle-timeout", "1s", "--budget", "0")...)
				o := j.Wait()
				memory.note(name, j)
				if o.Code == 1 {
					// No retry would help, or the machine is too busy for an honest answer in these times.
					o = s.Resume(0, "--timeout", "5m", "--idle-timeout", "1m")
				}
				if o.Code != 0 || o.Stdout != "fine\n" {
					t.Errorf("got %v, want the answer of the first try or of another", o)
				}
			})
		}
	})
	t.Logf("%d agents; the most memory was %d MiB: %s", len(misdeeds), memory.most>>10, memory.name)
	var own syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &own)
	// Linux counts for a child what its parent had when it was started, and not to the page.
	if most := max(256<<10, own.Maxrss+own.Maxrss/4); err != nil || memory.most > most {
		t.Errorf("%s: got %d MiB (%v), want at most %d", memory.name, memory.most>>10, err, most>>10)
	}
}
