package proc

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
)

// Recorder writes the debug files of one invocation into a folder: prompt.md,
// command.json, stdout.* and stderr.txt; for the second invocation in the same
// folder prompt.2.md, command.2.json and so on. A file that can't be written is
// left out: recording never fails a run. The nil Recorder records nothing.
type Recorder struct {
	dir string
	n   int
	out []*os.File
}

// maxRecorders bounds the invocations that are recorded in one folder.
const maxRecorders = 10_000

// maxRecorded is how much of stdout and of stderr is written.
const maxRecorded = 32 << 20

// NewRecorder returns a Recorder for the next invocation in dir, which must
// exist: the first number of which there is nothing. It returns nil for an empty dir.
func NewRecorder(dir string) *Recorder {
	if dir == "" {
		return nil
	}
	r := &Recorder{dir: dir, n: 1}
	for r.n < maxRecorders && (r.has("command", ".json") || r.has("prompt", ".md")) {
		r.n++
	}
	return r
}

func (r *Recorder) has(name, extension string) bool {
	_, err := os.Lstat(r.path(name, extension))
	return err == nil
}

// Record writes what is about to be started, and makes s write its output to
// files as well; extension is that of the stdout file, as in ".txt". Close must
// be called after the Run.
func (r *Recorder) Record(s *Options, extension string) {
	if r == nil {
		return
	}
	r.command(*s)
	s.Stdout = r.tee(s.Stdout, "stdout", extension)
	s.Stderr = r.tee(s.Stderr, "stderr", ".txt")
}

// Prompt writes the prompt as it is sent.
func (r *Recorder) Prompt(text string) {
	if r == nil {
		return
	}
	_ = files.Write(r.path("prompt", ".md"), []byte(text), 0o600)
}

// Close closes the files.
func (r *Recorder) Close() {
	if r == nil {
		return
	}
	for _, f := range r.out {
		f.Close()
	}
}

// command writes command.json, without the values of secrets.
func (r *Recorder) command(s Options) {
	hide := secrets.NewRedactor(s.Env)
	argv := append([]string{s.Path}, s.Args...)
	for i := range argv {
		argv[i] = hide.Text(argv[i])
	}
	record := struct {
		Argv []string          `json:"argv"`
		Cwd  string            `json:"cwd"`
		Env  map[string]string `json:"environment"`
	}{argv, s.Dir, hide.Environ(s.environment())}
	f, err := r.create("command", ".json")
	if err != nil {
		return
	}
	defer f.Close()
	enc := json.NewEncoder(f)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(record)
}

// tee returns a writer that also writes to a file.
func (r *Recorder) tee(w io.Writer, name, extension string) io.Writer {
	f, err := r.create(name, extension)
	if err != nil {
		return w
	}
	r.out = append(r.out, f)
	file := &Capped{W: f, Room: maxRecorded}
	if w == nil {
		return file
	}
	return io.MultiWriter(file, w)
}

func (r *Recorder) create(name, extension string) (*os.File, error) {
	f, _, err := files.OpenFile(r.path(name, extension), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	return f, err
}

func (r *Recorder) path(name, extension string) string {
	if r.n > 1 {
		name += "." + fmt.Sprint(r.n)
	}
	return filepath.Join(r.dir, name+extension)
}
