package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// letter is the state of a process, as in "S"; "" for one that is gone.
func letter(pid int) string {
	stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, rest, _ := strings.Cut(string(stat), ") ")
	return rest[:min(1, len(rest))]
}

// TestNothingDiesBeforeAllIsStopped: a process that starts another one whenever its child
// has ended, and that is found after the child, has no chance to.
func TestNothingDiesBeforeAllIsStopped(t *testing.T) {
	again := filepath.Join(t.TempDir(), "again")
	cmd := exec.Command("bash", "-c", `sleep 300 & echo $!; wait; echo > "$0"; exec sleep 300`, again)
	from, err := cmd.StdoutPipe()
	must(err)
	must(cmd.Start())
	var child int
	_, err = fmt.Fscan(from, &child)
	must(err)
	hasStarted := func() bool { _, err := os.Stat(again); return !errors.Is(err, fs.ErrNotExist) }
	isOver := func(pid int) bool { return strings.Contains("TZX", letter(pid)) }
	newHunt(func(yield func(process) bool) {
		for _, pid := range []int{child, cmd.Process.Pid} {
			p, ok := readStat(pid)
			if !ok || p.dying {
				continue
			}
			if !yield(p) {
				return
			}
			for !isOver(pid) {
				runtime.Gosched()
			}
			for letter(child) != "T" && !isOver(cmd.Process.Pid) && !hasStarted() {
				runtime.Gosched()
			}
		}
	}).kill()
	_ = cmd.Wait()
	if hasStarted() {
		t.Error("the parent started another process when its child was killed")
	}
	waitDead(t, child)
	reapStrays()
}

// TestNearestOrphansAreFoundFirst: parents come before their children, and all children of
// one generation before those of the next.
func TestNearestOrphansAreFoundFirst(t *testing.T) {
	cmd := exec.Command("bash", "-c", `branch() { sleep 300 & sleep 300 & echo; wait; }; branch & branch & branch & wait`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	from, err := cmd.StdoutPipe()
	must(err)
	must(cmd.Start())
	_, err = from.Read(make([]byte, 1)) // each branch tells when it is complete
	must(err)
	for range 2 {
		_, err = from.Read(make([]byte, 1))
		must(err)
	}
	root := cmd.Process.Pid
	k := kin{pid: root}
	depths, got := map[int]int{os.Getpid(): -1}, []int{}
	for p := range k.orphans([]int{root}, nil) {
		depths[p.pid] = depths[p.ppid] + 1
		got = append(got, depths[p.pid])
	}
	if want := []int{0, 1, 1, 1, 2, 2, 2, 2, 2, 2}; !slices.Equal(got, want) {
		t.Errorf("generations: got %v, want %v", got, want)
	}
	must(syscall.Kill(-root, syscall.SIGKILL))
	_ = cmd.Wait()
	reapStrays()
}

// TestASweepThatIsGivenUpSaysThatSomethingIsLeft, also when all that it found is gone, as what
// forks and exits all the time: the next one is there.
func TestASweepThatIsGivenUpSaysThatSomethingIsLeft(t *testing.T) {
	over := make(chan struct{})
	close(over)
	ended := exec.Command("true")
	must(ended.Run())
	find := func(yield func(process) bool) { yield(process{pid: ended.Process.Pid, born: 1}) }
	if _, left := endAll(find, over); left != 1 {
		t.Errorf("left: got %d, want 1", left)
	}
}
