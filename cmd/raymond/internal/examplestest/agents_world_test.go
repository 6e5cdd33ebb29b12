//go:build linux && world

package examplestest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/internal/installtest"
)

// Agents are the agent CLI of a stage. Each prompt is answered by a play, a bash script that is
// run where the agent works and with its environment; $PROMPT names the file with the prompt.
// What the script prints is what the agent says.
type Agents struct {
	t   testing.TB
	dir string // with claude in it
}

// cli answers --version as the stub does, and any prompt by a play, whose text
// reaches the stub as a reply; the stub keeps the conversation.
const cli = `#!/bin/bash
[ "$1" = --version ] && exec %[1]q --version
dir=%[2]q n=1
until mkdir "$dir/calls/$RAYMOND_STATE.$n" 2>/dev/null; do n=$((n + 1)); done
call=$dir/calls/$RAYMOND_STATE.$n
cat >"$call/prompt"
until [ -e "$dir/plays/$RAYMOND_STATE.$n" ] || [ "$n" = 0 ]; do n=$((n - 1)); done
text=$(PROMPT=$call/prompt bash "$dir/plays/$RAYMOND_STATE.$n" 2>"$call/stderr") || { cat "$call/stderr" >&2; exit 1; }
printf 'reply:\n%%s\nend.\n' "$text" | %[1]q "$@"
`

func newAgents(t testing.TB) *Agents {
	t.Helper()
	a := &Agents{t: t, dir: t.TempDir()}
	for _, name := range []string{"calls", "plays"} {
		if err := os.Mkdir(filepath.Join(a.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a.program(fmt.Sprintf(cli, sitetest.Stub.Path(t), a.dir))
	return a
}

// realCLI keeps the real CLI off the network.
const realCLI = `#!/bin/bash
export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_TELEMETRY=1 DISABLE_UPDATES=1 CLAUDE_CODE_MAX_RETRIES=1 NO_PROXY='*'
exec %q "$@"
`

func (a *Agents) real(path string) { a.program(fmt.Sprintf(realCLI, path)) }

func (a *Agents) program(text string) {
	a.t.Helper()
	installtest.WriteProgram(a.t, filepath.Join(a.dir, "claude"), text)
}

// Play sets what the first, second, … prompt of a state is answered with, counted
// over all runs of the stage; the last play repeats.
func (a *Agents) Play(state string, plays ...string) {
	a.t.Helper()
	for i, play := range plays {
		path := filepath.Join(a.dir, "plays", state+"."+strconv.Itoa(i+1))
		if err := os.WriteFile(path, []byte("set -eu\n"+play+"\n"), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
}

// Calls is the number of prompts so far.
func (a *Agents) Calls() int {
	a.t.Helper()
	calls, err := os.ReadDir(filepath.Join(a.dir, "calls"))
	if err != nil {
		a.t.Fatal(err)
	}
	return len(calls)
}
