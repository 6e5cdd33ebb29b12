//go:build linux

package action_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// waitsForAll is a workflow whose agents wait for all that there is.
const waitsForAll = `-- wf/START.sh --
# raymond: many_forks=true
for state in POLL ASK PUBLISH; do echo "<fork next=\"JOIN.sh\">$state.sh</fork>"; done
-- wf/POLL.sh --
echo '<goto after="48h">DONE.sh</goto>'
-- wf/ASK.sh --
cat <<'END'
<ask next="DONE.sh" choices="yes,no" timeout="24h" timeout_next="LATE.sh">Shall it be released?
::error::not a line of its own, and no command
</ask>
END
-- wf/PUBLISH.sh --
# raymond: job=publish
echo '<result>published</result>'
-- wf/JOIN.sh --
echo '<join>DONE.sh</join>'
-- wf/DONE.sh --
echo "<result>$RAYMOND_RESULT</result>"
-- wf/LATE.sh --
echo '<result>late</result>'
`

// TestThePageOfARunThatWaitsSaysWhatToDo: it begins with the question and the words that
// answer it; the notice has both too, and log, page and annotations say the same about what
// is next.
func TestThePageOfARunThatWaitsSaysWhatToDo(t *testing.T) {
	t.Parallel()
	s := newScene(t, waitsForAll)
	e := s.onIssue(1, "key", "k", "job", "main", "checkpoint-interval", "1s").do(0)
	e.wantOutputs(t, "status", "suspended", "resumable", "true", "next-jobs", `["publish"]`)
	var waiting []map[string]any
	if err := json.Unmarshal([]byte(e.outputs["waiting"]), &waiting); err != nil || len(waiting) != 4 {
		t.Fatalf("output waiting: got %q, want four agents (%v)", e.outputs["waiting"], err)
	}
	at := -1
	for _, part := range []string{
		"## ⏸️ Suspended", "**Question 1**, asked by `main_ask2`", "Shall it be released?\n::error::not a line",
		"on issue 7](", "with one of these: `/raymond yes` · `/raymond no`", "the run continues with `LATE.sh`.",
		"- until 20", "`main_poll1`, then at `DONE.sh`. A run of this workflow by a `schedule`",
		"- for the job `publish`: `main_publis3` at `PUBLISH.sh`.", "`needs: build`", `contains(needs.build.outputs.next-jobs, '"publish"')`,
		"- for 3 agents to end: `main`", "**Next:**", "### Path", "waits for an answer",
	} {
		i := strings.Index(e.summary, part)
		if i <= at {
			t.Fatalf("page: got\n%s\nwant %q in it, after what is wanted before", e.summary, part)
		}
		at = i
	}
	notices := strings.Join(e.texts("notice"), "\n")
	for _, part := range []string{"Question 1: Shall it be released? ::error::not", "Answer question 1 with a comment on issue 7: /raymond yes or /raymond no."} {
		if !strings.Contains(notices, part) {
			t.Errorf("notices: got\n%s\nwant %q in them", notices, part)
		}
	}
	s.wantEverywhere(e, "Answer question 1 with a comment on issue 7: /raymond yes or /raymond no. "+
		"A later job of this workflow run with job: publish, key: k and resume: require resumes it. The next run with key: k resumes it from ")
}
