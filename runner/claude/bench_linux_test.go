package claude

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/runner"
	ct "github.com/raymond-action/raymond-action/runner/claude/claudetest"
	"github.com/raymond-action/raymond-action/state"
)

// turnsOfTalk is how many turns of a conversation are measured after its first.
const turnsOfTalk = 20

// BenchmarkConversation compares a conversation in which each turn has a process of its
// own, as Backend does it, with one that a single process continues. The turns of both are
// taken in pairs; the figures are medians. See docs/performance.md for why the second is no
// way to run states.
func BenchmarkConversation(b *testing.B) {
	s := ct.NewServer(b, ct.On("", ct.Say("<goto>NEXT</goto>")))
	cli := realCLI(b, s)
	for b.Loop() {
		measureConversation(b, cli)
	}
}

func measureConversation(b *testing.B, cli *Backend) {
	apart, together := order(b, "turn 0"), order(b, "turn 0")
	ask(b, cli, apart)
	apart.Prompt.Session = state.Resume
	k := keep(b, cli, together)
	k.turn(b, together.Prompt.Text)

	var wall [2][]time.Duration
	cpu := [2]time.Duration{-childrenCPU(b), -k.cpu(b)}
	for i := range turnsOfTalk {
		text := "turn " + strconv.Itoa(i+1)
		began := time.Now()
		apart.Prompt.Text = text
		ask(b, cli, apart)
		between := time.Now()
		k.turn(b, text)
		wall[0] = append(wall[0], between.Sub(began))
		wall[1] = append(wall[1], time.Since(between))
	}
	// The kept process has not been waited for, so that the children's time is without it.
	cpu[0] += childrenCPU(b)
	cpu[1] += k.cpu(b)
	b.ReportMetric(float64(peakOfChildren(b))/(1<<20), "new-MB")
	b.ReportMetric(k.memory(b)/(1<<20), "kept-MB")
	k.end(b)

	ratios := make([]float64, turnsOfTalk)
	for i := range ratios {
		ratios[i] = float64(wall[0][i]) / float64(wall[1][i])
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[turnsOfTalk/2], "ratio")
	for i, name := range []string{"new", "kept"} {
		slices.Sort(wall[i])
		b.ReportMetric(milliseconds(wall[i][turnsOfTalk/2]), name+"-ms/turn")
		b.ReportMetric(milliseconds(cpu[i])/turnsOfTalk, name+"-cpu-ms/turn")
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// ask has a turn answered by a process of its own.
func ask(b *testing.B, cli *Backend, o runner.Order) {
	o.Mark = uuid.NewString()
	if _, err := cli.Run(b.Context(), o, func(runner.Progress) {}); err != nil {
		b.Fatalf("%s: got %v, want an answer", o.Prompt.Text, err)
	}
}

// kept is a CLI that answers one prompt after the other.
type kept struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func keep(b *testing.B, cli *Backend, o runner.Order) *kept {
	k := &kept{cmd: exec.Command(cli.Path, append(cli.args(o), "--input-format", "stream-json")...)}
	k.cmd.Dir, k.cmd.Env = o.Dir, cli.env(o.Env)
	in, err := k.cmd.StdinPipe()
	must(b, err)
	out, err := k.cmd.StdoutPipe()
	must(b, err)
	must(b, k.cmd.Start())
	b.Cleanup(func() { _ = k.cmd.Process.Kill() })
	k.in, k.out = in, bufio.NewReader(out)
	return k
}

// turn has a prompt answered.
func (k *kept) turn(b *testing.B, text string) {
	message, err := json.Marshal(map[string]any{"type": "user", "message": map[string]string{"role": "user", "content": text}})
	must(b, err)
	_, err = k.in.Write(append(message, '\n'))
	must(b, err)
	for {
		line, err := k.out.ReadBytes('\n')
		must(b, err)
		var r record
		must(b, r.decode(line))
		if r.Type == "result" {
			if r.Subtype != "success" || r.IsError {
				b.Fatalf("%s: got %.200s, want an answer", text, line)
			}
			return
		}
	}
}

func (k *kept) end(b *testing.B) {
	must(b, k.in.Close())
	_, err := io.Copy(io.Discard, k.out)
	must(b, err)
	must(b, k.cmd.Wait())
}

// cpu is the processor time of the process so far.
func (k *kept) cpu(b *testing.B) time.Duration {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(k.cmd.Process.Pid) + "/stat")
	must(b, err)
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	const ticks = 100 // a second, on all of Go's architectures
	var sum time.Duration
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		must(b, err)
		sum += time.Duration(n) * time.Second / ticks
	}
	return sum
}

// memory is what the process has of it while it waits for the next prompt, in bytes.
func (k *kept) memory(b *testing.B) float64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(k.cmd.Process.Pid) + "/status")
	must(b, err)
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			must(b, err)
			return float64(kib) * 1024
		}
	}
	b.Fatal("VmRSS: got none")
	return 0
}

// usageOfChildren is what the processes that have been waited for have used.
func usageOfChildren(b *testing.B) syscall.Rusage {
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u))
	return u
}

func childrenCPU(b *testing.B) time.Duration {
	u := usageOfChildren(b)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakOfChildren is the most memory that one of them has had, in bytes.
func peakOfChildren(b *testing.B) int64 { return usageOfChildren(b).Maxrss * 1024 }
