//go:build linux

package action_test

import (
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// agentsAndScripts is a workflow with a prompt, a caged script and trusted scripts.
const agentsAndScripts = `-- wf/1_START.sh --
echo '<result>done</result>'
-- wf/ASK.md --
---
allowed_transitions: [{tag: goto, target: PUSH.sh}]
---
ask
-- wf/PUSH.sh --
# raymond: trusted=true
echo '<result>pushed</result>'
-- wf/job.sh --
# raymond: job=publish trusted=true
echo '<result>published</result>'
`

// TestUnsafeStepIsRefused checks that a step is refused, before anything starts, if its agents
// could read credentials or change code that runs later. With cage: off, agents are not confined,
// so these checks don't apply.
func TestUnsafeStepIsRefused(t *testing.T) {
	t.Parallel()
	login := "[core]\n\tbare = false\n[http \"https://github.com/\"]\n\textraheader = AUTHORIZATION: basic x\n"
	for name, tt := range map[string]struct {
		inputs []string
		files  map[string]string
		env    []string
		class  problem.Class // "" for a step that is not refused
		says   []string
	}{
		"nothing of it":                       {},
		"a token beside a checkout below":     {files: map[string]string{"a/b/c/sub/.git/config": "[includeIf \"gitdir:/w/.git\"]\n\tpath = /home/runner/work/_temp/git-credentials-1.config\n"}, class: problem.ClassDenied, says: []string{"persist-credentials: false", "a/b/c/sub/.git/config"}},
		"a login of Google's cloud":           {files: map[string]string{"gha-creds-1.json": "{}"}, class: problem.ClassDenied, says: []string{"persist-credentials: false", "gha-creds-1.json"}},
		"such a login for the agents":         {files: map[string]string{"gha-creds-1.json": "{}"}, env: []string{"CLAUDE_CODE_USE_VERTEX", "1"}},
		"a token, and trusted scripts alone":  {inputs: []string{"job", "publish", "prompts", "false", "key", "k"}, files: map[string]string{".git/config": login}},
		"secrets that no script gets":         {inputs: []string{"script-env", "TOKEN", "workflow", "plain"}, class: problem.ClassUsage, says: []string{"input script-env", "trusted=true"}},
		"secrets for a trusted script":        {inputs: []string{"script-env", "TOKEN"}},
		"secrets beside agents without cage":  {inputs: []string{"script-env", "TOKEN", "allow-sudo", "true"}, class: problem.ClassDenied, says: []string{"input script-env", "job: publish", "allow-sudo"}},
		"the same in a job without agents":    {inputs: []string{"script-env", "TOKEN", "allow-sudo", "true", "job", "publish", "prompts", "false", "key", "k"}},
		"the action itself":                   {env: []string{"RAYMOND_SHIM", "WORK/cmd/shim"}, class: problem.ClassUsage, says: []string{"trust-self: true"}},
		"the action itself, which is trusted": {inputs: []string{"trust-self", "true"}, env: []string{"RAYMOND_SHIM", "WORK/cmd/shim"}},
		"the action itself, without agents":   {inputs: []string{"prompts", "false"}, env: []string{"RAYMOND_SHIM", "WORK/cmd/shim"}},
	} {
		for _, mode := range []string{"on", "off"} {
			if mode == "off" && strings.Contains(strings.Join(tt.inputs, " "), "allow-sudo") {
				continue
			}
			repo := folder(t, agentsAndScripts+"-- plain/START.sh --\necho '<result>done</result>'\n")
			j := newJob(t, sitetest.NewForge(t), repo, 1).with("cage", mode).with(tt.inputs...)
			for i := 1; i < len(tt.env); i += 2 {
				j.set(tt.env[i-1], strings.ReplaceAll(tt.env[i], "WORK", j.Work))
			}
			for file, text := range tt.files {
				j.Site.Write(filepath.Join(j.Work, file), text)
			}
			want := tt.class
			if mode == "off" && want == problem.ClassDenied || mode == "off" && strings.Contains(name, "the action") {
				want = ""
			}
			e := j.end(j.start())
			got := e.Outputs["error-class"]
			if got == string(problem.ClassSuspended) { // the run waits for the job main
				got = ""
			}
			assert.Check(t, got == string(want), "%s, cage: %s: got class %q, %q, want %q", name, mode, got, e.Annotations("error"), want)
			for _, says := range tt.says {
				if want != "" && !e.HasAnnotation("error", says) {
					t.Errorf("%s: got %q, want %q in it", name, e.Annotations("error"), says)
				}
			}
		}
	}
}

// TestStepAfterAgentsNeedsACage checks that once agents or scripts have run in a job, a later step
// uses files that they may have changed only in a cage and without secrets. The cage of the earlier
// step doesn't matter.
func TestStepAfterAgentsNeedsACage(t *testing.T) {
	t.Parallel()
	repo := folder(t, agentsAndScripts+"-- plain/START.sh --\necho '<result>done</result>'\n-- talk/START.md --\nreply:\n<result>done</result>\nend.\n-- prices.yaml --\nprices: {x: {input: 1, output: 1}}\n"+
		"-- make/START.sh --\nsed -i s/pushed/stolen/ push/START.sh; exit 1\n-- push/START.sh --\n# raymond: trusted=true\necho '<result>pushed</result>'\n")
	elsewhere := folder(t, agentsAndScripts)
	const push = "workflow push"
	for _, tt := range []struct {
		first, later string
		want         problem.Class
	}{
		{"workflow talk", "workflow plain", ""}, {"workflow talk", "workflow plain cage off", problem.ClassDenied},
		{"workflow talk", "workflow plain allow-sudo true", problem.ClassDenied},
		{"workflow talk", push, problem.ClassDenied}, {"workflow talk", "workflow " + elsewhere + "/wf", ""},
		{"workflow talk", "workflow " + elsewhere + "/wf prices WORK/prices.yaml", problem.ClassDenied},
		{"workflow talk", "workflow plain mode simulate replies r.yaml", problem.ClassDenied}, {"workflow talk", "workflow plain mode lint", ""},
		{"workflow make", push, problem.ClassDenied}, {"workflow make cage off", push, problem.ClassDenied},
		{"workflow make allow-sudo true", push, problem.ClassDenied}, {"workflow make mode simulate replies r.yaml", push, problem.ClassDenied},
		{"workflow make mode lint", push, ""}, {push, push, ""},
	} {
		first := newJob(t, sitetest.NewForge(t), repo, 1).with("cage", "on", "anthropic-api-key", "sk-ant-test-key-0123", "key", "first")
		later := first.step("later").with("key", "later").with(strings.Fields(strings.ReplaceAll(tt.later, "WORK", first.Work))...)
		first.with(strings.Fields(tt.first)...).end(first.start())
		e := later.end(later.start())
		if got := e.Outputs["error-class"]; got != string(tt.want) || tt.want != "" && !e.HasAnnotation("error", "a separate job") {
			t.Errorf("%s after %s: got class %q, %q, want %q", tt.later, tt.first, got, e.Annotations("error"), tt.want)
		}
		assert.Check(t, e.Outputs["result"] != "stolen", "%s after %s", tt.later, tt.first)
	}
}
