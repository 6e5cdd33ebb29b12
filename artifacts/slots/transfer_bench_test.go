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
	"strings"
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

// TestMain makes this program a part of BenchmarkTransfer where asked. It says what its peak of
// memory was.
func TestMain(m *testing.M) {
	role, ok := map[string]func(io.Reader) error{"upload": upload, "download": download}[os.Getenv(roleVar)]
	if !ok {
		os.Exit(m.Run())
	}
	err := role(os.Stdin)
	status, _ := os.ReadFile("/proc/self/status") // what is not there has no peak
	if _, peak, _ := strings.Cut(string(status), "VmHWM:"); err == nil {
		fmt.Println(strings.Fields(peak)[0])
		return
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// used is what a process has used.
type used struct {
	wall, cpu time.Duration
	peakKiB   float64 // of this program alone
}

// measure runs a process.
func measure(b *testing.B, cmd *exec.Cmd) (u used) {
	b.Helper()
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%q: %v\n%s", cmd.Args, err, out)
	}
	u = used{wall: time.Since(began), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	u.peakKiB, _ = strconv.ParseFloat(strings.TrimSpace(string(out)), 64) // the other one says nothing
	return u
}

// BenchmarkTransfer has this program and the official client of artifacts store the same
// files in one server and fetch them again, in turn, each as a process of its own. The
// ratios are medians of this program's share of what the official client takes.
func BenchmarkTransfer(b *testing.B) {
	for _, size := range []int{5, 200} {
		b.Run(fmt.Sprintf("%dMB", size), func(b *testing.B) {
			s := &storage{server: artifactstest.New(b), files: filled(b, size)}
			s.official = officialtest.New(b, s.server.URL, artifactstest.Token(1))
			for _, role := range []string{"upload", "download"} {
				b.Run(role+"/plain", func(b *testing.B) { s.compare(b, role, "") })
				b.Run(role+"/sealed", func(b *testing.B) { s.compare(b, role, newKey(b)) })
			}
		})
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

// filled makes a folder with ten files of so many MB together, of lines that are made smaller
// as transcripts are, some five to one.
func filled(b *testing.B, megabytes int) string {
	b.Helper()
	dir, each := b.TempDir(), megabytes*1_000_000/10
	for i := range 10 {
		var data bytes.Buffer
		random := rand.NewChaCha8([32]byte{byte(i)})
		for line := 0; data.Len() < each; line++ {
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
			"wall-ratio": float64(ours.wall) / float64(theirs.wall), "cpu-ratio": float64(ours.cpu) / float64(max(1, theirs.cpu)),
			"peak-MiB": ours.peakKiB / 1024, "wall-ms": float64(ours.wall.Milliseconds()), "cpu-ms": float64(ours.cpu.Milliseconds()),
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
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	job, err := json.Marshal(transferJob{URL: s.server.URL, Files: s.files, Temp: b.TempDir(), Key: key})
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env, cmd.Stdin = append(os.Environ(), roleVar+"="+role), bytes.NewReader(job)
	return measure(b, cmd)
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
	u := measure(b, call.Cmd)
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
