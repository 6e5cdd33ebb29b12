package store

import (
	"os/exec"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/artifacts/slots"
)

func TestAliveDistinguishesProcesses(t *testing.T) {
	over := exec.Command("true")
	assert.NilError(t, over.Run())
	for name, c := range map[string]struct {
		edit         func(*slots.Process)
		alive, known bool
	}{
		"this process":                 {func(*slots.Process) {}, true, true},
		"an earlier one of this id":    {func(p *slots.Process) { p.Started += "0" }, false, true},
		"a process of another machine": {func(p *slots.Process) { p.Machine = "another" }, false, false},
		"a process that has ended":     {func(p *slots.Process) { p.PID = over.Process.Pid }, false, true},
	} {
		p := ThisProcess()
		c.edit(&p)
		if alive, known := Alive(p); alive != c.alive || known != c.known {
			t.Errorf("%s: got %v, %v; want %v, %v", name, alive, known, c.alive, c.known)
		}
	}
}
