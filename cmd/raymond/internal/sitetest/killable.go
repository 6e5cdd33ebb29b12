package sitetest

import (
	"math/rand/v2"
	"strings"
	"time"
)

// Killable is a workflow for tests that kill raymond at any moment, in txtar form. It has a call, two
// forks, and two states whose checks pass at the second attempt. Agents, scripts and checks append
// what they do to the file $SIDE_EFFECTS.
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

// secondAttempt is a slow check. For each agent, it fails until it has run to its end once, without being
// killed; after that, it passes.
const secondAttempt = `printf '{"agent":"%s","state":"%s","kind":"verify"}\n' "$RAYMOND_AGENT_ID" "$RAYMOND_STATE" >>"$SIDE_EFFECTS"; ` +
	`sleep 0.05; [ -e "$RAYMOND_AGENT_ID.once" ] || { touch "$RAYMOND_AGENT_ID.once"; false; }`

// WaitAtRandom waits for a random time that is shorter than within. It returns false if the command ended
// before.
func (j *Command) WaitAtRandom(random *rand.Rand, within time.Duration) bool {
	select {
	case <-j.Done:
		return false
	case <-time.After(time.Duration(random.Int64N(int64(within)))):
		return true
	}
}

// Shoot kills the orchestrator, not its children. It returns false if it had already ended.
func (j *Command) Shoot() bool {
	_ = j.Cmd.Process.Kill()
	<-j.Done
	return j.Cmd.ProcessState.ExitCode() == -1
}
