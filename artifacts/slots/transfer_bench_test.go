//go:build linux

package slots_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/officialtest"
)

// TestMain makes this program a part of BenchmarkTransfer where asked.
func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVar); role {
	case "":
		os.Exit(m.Run())
	case roleMeasure:
		leave(measureCommand())
	default:
		leave(transfer(role))
	}
}

// roleVar is the variable that says what a process of this program is.
const roleVar = "RAYMOND_BENCH_TRANSFER"

const (
	roleMeasure  = "measure"
	roleUpload   = "upload"
	roleDownload = "download"
)

func leave(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// command is a process to be measured.
type command struct {
	Args, Env []string
	Stdin     []byte
}

// used is what a process has used.
type used struct {
	Wall, CPU time.Duration
	PeakKiB   int64
}

// measureCommand runs the command that it reads from its standard input and says what that
// has used. It is a process of its own because what the kernel tells of the memory of a
// process that has ended includes that of the one that started it.
func measureCommand() error {
	var c command
	if err := json.NewDecoder(os.Stdin).Decode(&c); err != nil {
		return err
	}
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Env, cmd.Stdin = c.Env, bytes.NewReader(c.Stdin)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%q: %w\n%s", c.Args, err, out)
	}
	u := used{Wall: time.Since(began), CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	u.PeakKiB = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	return json.NewEncoder(os.Stdout).Encode(u)
}

// measure runs a command as a process of its own, from outside.
func measure(b *testing.B, c command) used {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	input, err := json.Marshal(c)
	if err != nil {
		b.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(self)
	cmd.Env, cmd.Stdin, cmd.Stderr = append(os.Environ(), roleVar+"="+roleMeasure), bytes.NewReader(input), &stderr
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("%v\n%s", err, &stderr)
	}
	var u used
	if err := json.Unmarshal(out, &u); err != nil {
		b.Fatal(err)
	}
	return u
}

// BenchmarkTransfer has this program and the official client of artifacts store the same
// files in one server and fetch them again, in turn, each as a process of its own. The
// ratios are medians of this program's share of what the official client takes; in-… are
// those of the time that the client itself takes once Node has started and loaded it.
func BenchmarkTransfer(b *testing.B) {
	for _, size := range []int{5, 200} {
		for _, content := range []string{"text", "noise"} {
			b.Run(fmt.Sprintf("%dMB/%s", size, content), func(b *testing.B) {
				dir := b.TempDir()
				if err := fill(dir, size, content); err != nil {
					b.Fatal(err)
				}
				s := newStorage(b, dir)
				for _, seal := range []string{"plain", "sealed"} {
					b.Run("upload/"+seal, func(b *testing.B) { s.compare(b, roleUpload, seal) })
					b.Run("download/"+seal, func(b *testing.B) { s.compare(b, roleDownload, seal) })
				}
			})
		}
	}
}

// storage is a server with the artifacts of a benchmark.
type storage struct {
	server   *artifactstest.Server
	official *officialtest.Client
	runtime  *artifacts.Runtime
	files    string // the folder of what is stored
	key      string // that seals
}

func newStorage(b *testing.B, files string) *storage {
	s := &storage{server: artifactstest.New(b), files: files}
	s.official = officialtest.New(b, officialtest.Newest, s.server.URL, artifactstest.Token(1))
	var err error
	if s.runtime, err = artifacts.NewRuntime(artifacts.Options{URL: s.server.URL, Token: artifactstest.Token(1)}); err != nil {
		b.Fatal(err)
	}
	if s.key, err = checkpoint.NewKey(); err != nil {
		b.Fatal(err)
	}
	return s
}

// compare has both do the same in turn.
func (s *storage) compare(b *testing.B, role, seal string) {
	m := medians{}
	if role == roleDownload {
		s.clear(b)
		s.ours(b, roleUpload, seal)
		s.theirs(b, roleUpload)
	}
	for b.Loop() {
		if role == roleUpload {
			s.clear(b)
		}
		ours := s.ours(b, role, seal)
		theirs, inside := s.theirs(b, role)
		m.add("wall-ratio", ratio(ours.Wall, theirs.Wall))
		m.add("cpu-ratio", ratio(ours.CPU, theirs.CPU))
		m.add("in-wall-ratio", ratio(ours.Wall, inside.Wall))
		m.add("in-cpu-ratio", ratio(ours.CPU, inside.CPU))
		m.add("peak-MiB", float64(ours.PeakKiB)/1024)
		m.add("official-peak-MiB", float64(theirs.PeakKiB)/1024)
		m.add("wall-ms", ms(ours.Wall))
		m.add("cpu-ms", ms(ours.CPU))
		m.add("official-wall-ms", ms(theirs.Wall))
		m.add("official-cpu-ms", ms(theirs.CPU))
	}
	s.addSizes(m)
	m.report(b)
}

// medians are series of values by their units.
type medians map[string][]float64

func (m medians) add(unit string, value float64) { m[unit] = append(m[unit], value) }

func (m medians) report(b *testing.B) {
	for unit, values := range m {
		slices.Sort(values)
		b.ReportMetric(values[len(values)/2], unit)
	}
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(max(1, b)) }

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// addSizes adds what the server has.
func (s *storage) addSizes(m medians) {
	for _, a := range s.server.All() {
		if a.Name == officialName {
			m.add("official-stored-MB", float64(len(a.Content))/1e6)
		} else {
			m.add("stored-MB", float64(len(a.Content))/1e6)
		}
	}
}

// officialName is the name of what the official client stores.
const officialName = "official"

func (s *storage) clear(b *testing.B) {
	list, err := s.runtime.List(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	for _, a := range list {
		if err := s.runtime.Delete(b.Context(), a); err != nil {
			b.Fatal(err)
		}
	}
}

func (s *storage) ours(b *testing.B, role, seal string) used {
	b.Helper()
	job := transferJob{URL: s.server.URL, Files: s.files, Temp: b.TempDir()}
	if seal == "sealed" {
		job.Key = s.key
	}
	input, err := json.Marshal(job)
	if err != nil {
		b.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	u := measure(b, command{Args: []string{self}, Env: append(os.Environ(), roleVar+"="+role), Stdin: input})
	s.emptied(b, job.Temp)
	return u
}

func (s *storage) theirs(b *testing.B, role string) (used, officialtest.Inside) {
	b.Helper()
	call, to := s.official.UploadCall(officialName, s.files), b.TempDir()
	if role == roleDownload {
		list, err := s.runtime.List(b.Context(), officialName)
		if err != nil || len(list) != 1 {
			b.Fatalf("got %v, %v; want one artifact", list, err)
		}
		call = s.official.DownloadCall(list[0].ID, to)
	}
	stdin, err := readAll(call.Cmd)
	if err != nil {
		b.Fatal(err)
	}
	u := measure(b, command{Args: call.Cmd.Args, Env: call.Cmd.Env, Stdin: stdin})
	inside, err := call.Result(&struct{}{})
	if err != nil {
		b.Fatal(err)
	}
	s.emptied(b, to)
	return u, inside
}

func readAll(cmd *exec.Cmd) ([]byte, error) {
	var data bytes.Buffer
	_, err := data.ReadFrom(cmd.Stdin)
	return data.Bytes(), err
}

// emptied removes what a process has left, which later ones need the disk for.
func (s *storage) emptied(b *testing.B, dir string) {
	if err := os.RemoveAll(dir); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkTransferGrown stores 50 MB of conversations again after 10 KB were added to one of
// them: what is sent, and what that costs.
func BenchmarkTransferGrown(b *testing.B) {
	dir := b.TempDir()
	if err := fill(dir, 50, "text"); err != nil {
		b.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "0.jsonl"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	sources, err := readSources("../..")
	if err != nil {
		b.Fatal(err)
	}
	added := newConversation(99, sources)
	for _, seal := range []string{"plain", "sealed"} {
		b.Run(seal, func(b *testing.B) {
			s, m := newStorage(b, dir), medians{}
			for b.Loop() {
				if err := added.write(f, 10_000); err != nil {
					b.Fatal(err)
				}
				s.clear(b)
				ours := s.ours(b, roleUpload, seal)
				m.add("wall-ms", ms(ours.Wall))
				m.add("cpu-ms", ms(ours.CPU))
				m.add("peak-MiB", float64(ours.PeakKiB)/1024)
			}
			s.addSizes(m)
			m.report(b)
		})
	}
}
