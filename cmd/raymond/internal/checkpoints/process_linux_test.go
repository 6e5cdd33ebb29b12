package checkpoints

import (
	"os/exec"
	"testing"
)

func TestProcessesAreToldApart(t *testing.T) {
	if alive, known := Alive(ThisProcess()); !alive || !known {
		t.Errorf("this process: got %v, %v; want it alive, and known", alive, known)
	}
	earlier := ThisProcess()
	earlier.Started += "0"
	if alive, known := Alive(earlier); alive || !known {
		t.Errorf("an earlier one of this id: got %v, %v; want it over, and known", alive, known)
	}
	far := ThisProcess()
	far.Machine = "another"
	if _, known := Alive(far); known {
		t.Error("a process of another machine: got that it is known, want not")
	}
	over := exec.Command("true")
	if err := over.Run(); err != nil {
		t.Fatal(err)
	}
	gone := ThisProcess()
	gone.PID = over.Process.Pid
	if alive, known := Alive(gone); alive || !known {
		t.Errorf("a process that has ended: got %v, %v; want it over, and known", alive, known)
	}
}
