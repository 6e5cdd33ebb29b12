//go:build linux

package action_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// attacked is a workflow of everything that runs in a cage, and of a script that doesn't.
const attacked = `-- wf/START.md --
---
done_when: ['sh ./attack check; true']
---
reply:
<goto>CAGED.sh</goto>
end.
-- wf/CAGED.sh --
# raymond: cage=true
sh ./attack caged
echo '<goto>PLAIN.sh</goto>'
-- wf/PLAIN.sh --
sh ./attack plain
echo '<result>done</result>'
`

// TestWhatACageKeepsFromAgents: an agent, a done_when command and a caged script read
// nothing of the run, of the runner, of other steps and of the user's keys, and write
// nothing that later steps run or obey. The same attack succeeds without a cage.
func TestWhatACageKeepsFromAgents(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"artifacts", "local"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			attackFromCages(t, store)
		})
	}
}

func attackFromCages(t *testing.T, store string) {
	j := newJob(t, sitetest.NewForge(t), acttest.Repository(t, attacked), 1)
	home, tools, states := j.env["HOME"], filepath.Join(j.root, "tools"), j.temp
	if store == "local" {
		states = filepath.Join(j.root, "states")
		j.with("store", "local", "state-dir", states)
	}
	read := map[string]string{
		"a key of the user": filepath.Join(home, ".ssh", "id"), "a login of git": filepath.Join(home, ".git-credentials"),
		"another step's file": filepath.Join(j.temp, "other-step", "token"),
	}
	write := map[string]string{
		"a start file": filepath.Join(home, ".bashrc"), "git's settings": filepath.Join(home, ".gitconfig"),
		"hooks of the agent CLI": filepath.Join(home, ".claude", "settings.json"), "a program on PATH": filepath.Join(tools, "tool"),
		"another action": filepath.Join(filepath.Dir(j.temp), "_actions", "other", "dist", "post.js"), "another step's script": filepath.Join(j.temp, "other-step", "next.sh"),
	}
	var script strings.Builder
	for what, path := range read {
		j.site.Write(path, "canary: "+what+"\n")
		script.WriteString("cat '" + path + "'\n")
	}
	script.WriteString("find '" + states + "' -name '*.json' -exec cat {} +\n")
	for _, path := range write {
		j.site.Write(path, "")
		script.WriteString("echo \"by $1\" >>'" + path + "'\n")
	}
	j.set("PATH", os.Getenv("PATH")+":"+tools)
	j.site.Write(filepath.Join(j.work, "attack"), "{\n"+script.String()+"} >got-$1 2>/dev/null\n")
	j.wrapped("sh " + filepath.Join(j.work, "attack") + " agent")
	j.do(0).wantOutputs(t, "status", "completed")
	for _, who := range []string{"agent", "check", "caged", "plain"} {
		got, reaches := j.read(filepath.Join(j.work, "got-"+who)), who == "plain"
		for what := range read {
			if strings.Contains(got, "canary: "+what) != reaches {
				t.Errorf("%s: read %s: %t, want %t", who, what, !reaches, reaches)
			}
		}
		if strings.Contains(got, `"workflow_id"`) != reaches {
			t.Errorf("%s: read the state of the run: %t, want %t", who, !reaches, reaches)
		}
		for what, path := range write {
			if strings.Contains(j.read(path), "by "+who) != reaches {
				t.Errorf("%s: wrote %s: %t, want %t", who, what, !reaches, reaches)
			}
		}
	}
}
