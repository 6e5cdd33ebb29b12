//go:build linux

package slots_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/officialtest"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/state"
)

// roleVar is the variable that says what a process of this program is.
const roleVar = "RAYMOND_BENCH_TRANSFER"

// roles are what it may be, beside the one that runs tests.
var roles = map[string]func(io.Reader) error{"measure": measureCommand, "upload": upload, "download": download}

// TestMain makes this program a part of BenchmarkTransfer where asked.
func TestMain(m *testing.M) {
	role := os.Getenv(roleVar)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := roles[role](os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
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

// measureCommand runs the command that it reads and says what that has used. It is a
// process of its own because what the kernel tells of the memory of a process that has
// ended includes that of the one that started it.
func measureCommand(from io.Reader) error {
	var c command
	if err := json.NewDecoder(from).Decode(&c); err != nil {
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

// itself is this program in a role, with what it reads.
func itself(b *testing.B, role string, input any) command {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	data, err := json.Marshal(input)
	if err != nil {
		b.Fatal(err)
	}
	return command{Args: []string{self}, Env: append(os.Environ(), roleVar+"="+role), Stdin: data}
}

// measure runs a command as a process of its own, from outside.
func measure(b *testing.B, c command) (u used) {
	b.Helper()
	outer := itself(b, "measure", c)
	cmd := exec.Command(outer.Args[0])
	cmd.Env, cmd.Stdin, cmd.Stderr = outer.Env, bytes.NewReader(outer.Stdin), os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &u)
	}
	if err != nil {
		b.Fatal(err)
	}
	return u
}

// BenchmarkTransfer has this program and the official client of artifacts store the same
// files in one server and fetch them again, in turn, each as a process of its own. The
// ratios are medians of this program's share of what the official client takes.
func BenchmarkTransfer(b *testing.B) {
	for _, size := range []int{5, 200} {
		for _, content := range []string{"text", "noise"} {
			b.Run(fmt.Sprintf("%dMB/%s", size, content), func(b *testing.B) {
				s := &storage{server: artifactstest.New(b), files: filled(b, size, content)}
				s.official = officialtest.New(b, s.server.URL, artifactstest.Token(1))
				for _, role := range []string{"upload", "download"} {
					b.Run(role+"/plain", func(b *testing.B) { s.compare(b, role, "") })
					b.Run(role+"/sealed", func(b *testing.B) { s.compare(b, role, newKey(b)) })
				}
			})
		}
	}
}

func newKey(b *testing.B) string {
	b.Helper()
	key, err := checkpoint.NewKey()
	if err != nil {
		b.Fatal(err)
	}
	return key
}

// filled makes a folder with ten files of so many MB together: noise, or lines that are
// made smaller as transcripts are, some five to one.
func filled(b *testing.B, megabytes int, content string) string {
	b.Helper()
	dir, each := b.TempDir(), megabytes*1_000_000/10
	for i := range 10 {
		var data bytes.Buffer
		random := rand.NewChaCha8([32]byte{byte(i)})
		for line := 0; data.Len() < each; line++ {
			if content == "noise" {
				_, _ = io.CopyN(&data, random, 1<<16) // never fails
				continue
			}
			fmt.Fprintf(&data, `{"type":"user","uuid":"%016x","content":"%6d\tif err := f.Close(); err != nil { return %[1]x }"}`+"\n", random.Uint64(), line)
		}
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)+".jsonl"), data.Bytes()[:each], 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// storage is a server with the artifacts of a benchmark.
type storage struct {
	server   *artifactstest.Server
	official *officialtest.Client
	files    string // the folder of what is stored
}

// transferRun is the workflow run of what this program stores, and officialRun that of
// what the official client does.
const (
	transferRun = 2
	officialRun = 1
)

// compare has both do the same in turn.
func (s *storage) compare(b *testing.B, role, key string) {
	s.ours(b, "upload", key)
	s.theirs(b, "upload")
	figures := map[string][]float64{}
	for b.Loop() {
		ours, theirs := s.ours(b, role, key), s.theirs(b, role)
		for unit, value := range map[string]float64{
			"wall-ratio": float64(ours.Wall) / float64(theirs.Wall), "cpu-ratio": float64(ours.CPU) / float64(max(1, theirs.CPU)),
			"peak-MiB": float64(ours.PeakKiB) / 1024, "wall-ms": float64(ours.Wall.Milliseconds()), "cpu-ms": float64(ours.CPU.Milliseconds()),
		} {
			figures[unit] = append(figures[unit], value)
		}
	}
	for unit, values := range figures {
		slices.Sort(values)
		b.ReportMetric(values[len(values)/2], unit)
	}
}

// clear removes what is stored in a workflow run.
func (s *storage) clear(b *testing.B, run int64) {
	b.Helper()
	r, err := runtimeOfTransfer(s.server.URL, run)
	if err != nil {
		b.Fatal(err)
	}
	list, err := r.List(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	for _, a := range list {
		if err := r.Delete(b.Context(), a); err != nil {
			b.Fatal(err)
		}
	}
}

func (s *storage) ours(b *testing.B, role, key string) used {
	b.Helper()
	if role == "upload" {
		s.clear(b, transferRun)
	}
	return measure(b, itself(b, role, transferJob{URL: s.server.URL, Files: s.files, Temp: b.TempDir(), Key: key}))
}

func (s *storage) theirs(b *testing.B, role string) used {
	b.Helper()
	call := s.official.UploadCall("official", s.files)
	if role == "upload" {
		s.clear(b, officialRun)
	} else {
		list, err := s.official.List()
		if err != nil || len(list) != 1 {
			b.Fatalf("got %v, %v; want one artifact", list, err)
		}
		call = s.official.DownloadCall(list[0].ID, b.TempDir())
	}
	stdin, err := io.ReadAll(call.Cmd.Stdin)
	if err != nil {
		b.Fatal(err)
	}
	u := measure(b, command{Args: call.Cmd.Args, Env: call.Cmd.Env, Stdin: stdin})
	if err := call.Result(&struct{}{}); err != nil {
		b.Fatal(err)
	}
	return u
}

// transferJob is what a process stores or fetches.
type transferJob struct {
	URL   string // of the server
	Files string // the folder of what is stored
	Temp  string // an empty folder
	Key   string // "" for none
}

func runtimeOfTransfer(url string, run int64) (*artifacts.Runtime, error) {
	return artifacts.NewRuntime(artifacts.Options{URL: url, Token: artifactstest.Token(run)})
}

// begin reads a job, and does what the program does as it begins.
func begin(from io.Reader) (job transferJob, r *artifacts.Runtime, keys *checkpoint.Keys, err error) {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(40 << 20)
	if err := json.NewDecoder(from).Decode(&job); err != nil {
		return job, nil, nil, err
	}
	if job.Key != "" {
		if keys, err = checkpoint.ParseKeys(job.Key); err != nil {
			return job, nil, nil, err
		}
	}
	r, err = runtimeOfTransfer(job.URL, transferRun)
	return job, r, keys, err
}

// upload makes a checkpoint with all files, and stores it.
func upload(from io.Reader) error {
	job, r, keys, err := begin(from)
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(job.Temp, "checkpoint.zip"))
	if err != nil {
		return err
	}
	defer f.Close()
	w := checkpoint.Writing{Keys: keys, Manifest: checkpoint.Manifest{
		RepositoryID: 1, Repository: "o/r", Workflow: ownFile, Key: key, WorkflowID: "k-12345678", Generation: 1, RunID: transferRun, RunAttempt: 1,
		Status: state.Suspended, Places: checkpoint.Places{Workspace: "/w", Temp: "/t", OS: "linux"}, Created: time.Now(),
	}}
	for i := range 10 {
		name := strconv.Itoa(i) + ".jsonl"
		w.Parts = append(w.Parts, checkpoint.Part{Name: "logs/" + name, Path: filepath.Join(job.Files, name), Size: -1})
	}
	written, err := checkpoint.Write(f, w)
	if err != nil {
		return err
	}
	_, err = slotsOf(r).Store(context.Background(), 1, slots.Content{Data: f, Size: written.Size, Digest: written.SHA256})
	return err
}

// download fetches the checkpoint, and unpacks it.
func download(from io.Reader) error {
	job, r, keys, err := begin(from)
	if err != nil {
		return err
	}
	list, err := r.List(context.Background(), (slots.Place{Key: key}).Names()[1])
	if err != nil || len(list) != 1 {
		return fmt.Errorf("got %v, %w; want one artifact", list, err)
	}
	f, err := os.Create(filepath.Join(job.Temp, "checkpoint.zip"))
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := r.Download(context.Background(), list[0], 1<<30, f)
	if err != nil {
		return err
	}
	to := filepath.Join(job.Temp, "files")
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	_, _, err = checkpoint.Read(checkpoint.Reading{File: f, Size: size, Keys: keys, Dir: to})
	return err
}
