package session_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
)

// work is what honest agents do. Each part says that it worked.
const work = `set -e
git init -q . && git config user.name a && git config user.email a@b.example
echo one >one.txt && git add one.txt && git commit -q -m one && git worktree add -q tree && git -C tree commit -q --allow-empty -m two
echo "part git"
printf 'all:\n\techo made >made\n' >Makefile && make -s && cat made
echo "part make"
mkdir -p mod && cd mod && go mod init example.test/m >/dev/null 2>&1
printf 'package m\n\nimport "testing"\n\nfunc TestM(t *testing.T) { t.Log(t.TempDir()) }\n' >m_test.go && go test ./... && cd ..
echo "part go"
mkdir -p pkg app && echo '{"name":"pkg","version":"1.0.0"}' >pkg/package.json && echo '{"name":"app","dependencies":{"pkg":"file:../pkg"}}' >app/package.json
(cd app && npm install --offline --no-audit --no-fund && npm ci --offline --no-audit --no-fund)
echo "part npm"
node -e 'const s = require("http").createServer((q, r) => r.end("served")).listen(0, "127.0.0.1", async () => {
  console.log(await (await fetch("http://127.0.0.1:" + s.address().port)).text()); s.close(); })'
echo "part server"
if command -v /usr/bin/python3 >/dev/null; then
	/usr/bin/python3 -c 'import multiprocessing as m; print(m.get_context("fork").Pool(2).map(abs, [-1]))'
	/usr/bin/python3 -c 'import pty; pty.spawn(["tty"])'
	/usr/bin/python3 -c 'import tempfile, os; print(tempfile.mkdtemp().startswith(os.environ["TMPDIR"]))'
fi
echo "part python"
sleep 30 & kill $! && wait $! || true
(set -m; sleep 30 & kill %1)
echo here | tee /dev/stderr >/dev/stdout; mktemp >/dev/null; echo x >/dev/null; shm=$(mktemp /dev/shm/cage-XXXXXX); echo x >"$shm"; rm "$shm"
echo "part shell"
`

// caged is a workflow whose agent works, is asked again in the same conversation, and
// is judged by a command.
const caged = `-- 1_START.md --
---
done_when: ["test -s made && touch judged && echo $TMPDIR >&2"]
---
Do the work.
-- AGAIN.md --
Look at it.
`

// TestContractHonestWorkInACage: agents do not notice it. The real CLI runs commands,
// writes files, and resumes its conversation.
func TestContractHonestWorkInACage(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"open", "none"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			honestWork(t, network)
		})
	}
}

func honestWork(t *testing.T, network string) {
	api := claudetest.NewServer(t,
		claudetest.On("Look at it.", claudetest.Do(claudetest.Bash("cat written.txt && git log --oneline --all && echo part resume")), claudetest.Say("<result>done</result>")),
		claudetest.On("Do the work.", claudetest.Do(claudetest.ToolUse("Bash", map[string]any{"command": work, "timeout": 600_000})), // the most that the tool takes
			claudetest.Do(claudetest.ToolUse("Write", map[string]any{"file_path": "written.txt", "content": "by a tool\n"})),
			claudetest.Say("<goto>AGAIN.md</goto>")))
	s := newRealSite(t, caged, api)
	cache, err := exec.Command("go", "env", "GOCACHE").Output() // an empty one takes the work of a minute to fill
	if err != nil {
		t.Fatal(err)
	}
	s.Env = append(s.Env, "GOCACHE="+strings.TrimSpace(string(cache)))
	o := s.Run(0, "--cage", "on", "--network", network, "--state-dir", filepath.Join(t.TempDir(), "state"), "--dangerously-skip-permissions", "--verbose")
	said := api.Last(t).Conversation()
	for _, part := range []string{"part git", "part make", "part go", "part npm", "served", "part server", "part python", "part shell", "by a tool", "part resume"} {
		if !strings.Contains(said, part) {
			t.Errorf("%s: got nothing of it in\n%s\n%s", part, said, o.Stderr)
		}
	}
	if strings.Contains(o.Stderr, "cage: refused") {
		t.Errorf("stderr: got %s, want nothing refused", o.Stderr)
	}
	if !sitetest.Exists(s.File("judged")) {
		t.Errorf("the command of done_when: got nothing written")
	}
	for _, kv := range s.Env {
		if dir, ok := strings.CutPrefix(kv, "TMPDIR="); ok {
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("temporary folder: got %v (%v), want it empty again", left, err)
			}
		}
	}
}
