package sitetest

import (
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/internal/invarianttest"
	"github.com/raymond-action/raymond-action/state"
)

// Killable is a workflow to be killed at any moment, in txtar form: with a call, two
// forks, and two states that are done at their second attempt. What agents, scripts and
// commands do, they tell $SIDE_EFFECTS.
var Killable = strings.ReplaceAll(killable, "COMMAND", "'"+strings.ReplaceAll(secondAttempt, "'", "''")+"'")

const killable = `
-- 1_START.md --
log: start {{input}}
wait: 20ms
reply:
<call return="BACK.sh" input="&lt;a&gt; 'b'">ASIDE.md</call>
end.
-- ASIDE.md --
log: aside {{input}}
wait: 20ms
reply:
<result>an aside,
"quoted"</result>
end.
-- BACK.sh --
printf '{"agent":"%s","state":"%s","sum":"%s"}\n' "$RAYMOND_AGENT_ID" "$RAYMOND_STATE" "$(sha256sum <"$RAYMOND_RESULT_FILE" | cut -c 1-64)" >>"$SIDE_EFFECTS"
sleep 0.02
echo '<fork next="MORE.sh" item="one">WORK.md</fork>'
-- MORE.sh --
printf '{"agent":"%s","state":"%s"}\n' "$RAYMOND_AGENT_ID" "$RAYMOND_STATE" >>"$SIDE_EFFECTS"
echo '<fork next="TRY.md" item="two">WORK.md</fork>'
-- WORK.md --
---
done_when: COMMAND
backoff: {base: 5ms, max: 5ms}
---
log: work on {{item}}
wait: 20ms
reply:
<result>worked on {{item}}</result>
end.
-- TRY.md --
---
done_when: COMMAND
backoff: {base: 5ms, max: 5ms}
---
log: try
wait: 20ms
reply:
<goto>END.sh</goto>
end.
-- END.sh --
printf '{"agent":"%s","state":"%s"}\n' "$RAYMOND_AGENT_ID" "$RAYMOND_STATE" >>"$SIDE_EFFECTS"
sleep 0.02
echo '<result>the end</result>'
`

// secondAttempt passes when it is run again after it has come to its end, and takes its
// time.
const secondAttempt = `printf '{"agent":"%s","state":"%s","kind":"verify"}\n' "$RAYMOND_AGENT_ID" "$RAYMOND_STATE" >>"$SIDE_EFFECTS"; ` +
	`sleep 0.05; [ -e "$RAYMOND_AGENT_ID.once" ] || { touch "$RAYMOND_AGENT_ID.once"; false; }`

// Landed counts kills at random moments by what they met.
type Landed struct {
	mu sync.Mutex // guards the rest

	Kills    int
	Agent    int // while an agent ran
	Verify   int // while commands of done_when ran
	Unstored int // when a step was committed and not stored elsewhere yet
}

// Note counts a kill. run is what was saved by then, nil for nothing, and stored the
// last step that was stored elsewhere.
func (l *Landed) Note(run *state.Run, stored int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Kills++
	if run == nil {
		return
	}
	agent, verify := false, false
	for _, a := range run.Agents {
		if a.Exec != nil && a.Exec.Running != nil {
			verify = verify || a.Exec.Phase == state.PhaseVerify
			agent = agent || a.Exec.Running.Mode != ""
		}
	}
	if agent {
		l.Agent++
	}
	if verify {
		l.Verify++
	}
	if run.Progress.Seq > stored {
		l.Unstored++
	}
}

// Aim chooses the moments of kills.
type Aim struct {
	Random *rand.Rand
	Within time.Duration // how far into a command a kill may come
	// Effects is the file that $SIDE_EFFECTS names.
	Effects string
}

// Wait waits for a moment to kill a command: any, or one soon after an agent or a command
// of done_when has begun. It returns false when the command ended before.
func (a Aim) Wait(j *Command) bool {
	delay := time.Duration(a.Random.Int64N(int64(a.Within)))
	if kind := a.Random.IntN(3); kind > 0 {
		isVerify := kind == 1
		before, size := a.begun(isVerify), a.size()
		delay = time.Duration(a.Random.Int64N(int64(30 * time.Millisecond)))
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for begun := before; begun == before; {
			select {
			case <-j.Done:
				return false
			case <-tick.C:
			}
			if now := a.size(); now != size {
				size, begun = now, a.begun(isVerify)
			}
		}
	}
	select {
	case <-j.Done:
		return false
	case <-time.After(delay):
		return true
	}
}

// size is how long the file with the effects is; reading it each time would cost more.
func (a Aim) size() int64 {
	info, err := os.Stat(a.Effects)
	if err != nil {
		return 0 // before the first
	}
	return info.Size()
}

// begun counts what has told that it began.
func (a Aim) begun(verify bool) int {
	data, _ := os.ReadFile(a.Effects) // none, before the first
	n := 0
	for _, e := range invarianttest.EffectsOf(strings.Split(string(data), "\n")) {
		if e.Verifies == verify && strings.HasSuffix(e.State, ".md") {
			n++
		}
	}
	return n
}

// Shoot kills the orchestrator alone. It returns false when that ended before.
func (j *Command) Shoot() bool {
	_ = j.Cmd.Process.Kill()
	<-j.Done
	return j.Cmd.ProcessState.ExitCode() == -1
}
