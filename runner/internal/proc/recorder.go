package proc

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
)

// recorder writes the debug files of one invocation into a directory: prompt.md, command.json, stdout.*
// and stderr.txt. The files of the second invocation in a directory are named prompt.2.md,
// command.2.json and so on. A file that can't be written is omitted, so that recording never makes a run
// fail.
type recorder struct {
	dir string
	// n is the number of the invocation in the directory.
	n   int
	out []*os.File
}

// maxRecorded is the maximum number of bytes of stdout, and of stderr, that are recorded.
const maxRecorded = 32 << 20

// nextRecorder returns a recorder with the lowest number for which dir contains neither a command nor a
// prompt. dir must exist.
func nextRecorder(dir string) *recorder {
	r := &recorder{dir: dir, n: 1}
	for r.has("command", ".json") || r.has("prompt", ".md") {
		r.n++
	}
	return r
}

// has reports whether the recorder's file with this name exists.
func (r *recorder) has(name, extension string) bool {
	_, err := os.Lstat(r.path(name, extension))
	return err == nil
}

// RecordPrompt writes the prompt of an invocation that starts no process into dir. If dir is empty, it
// does nothing.
func RecordPrompt(dir, text string) {
	if dir != "" {
		nextRecorder(dir).write("prompt", ".md", []byte(text))
	}
}

// startRecording records the command and the prompt, with secrets masked in the command's arguments and
// environment. It replaces the writers of s with writers that also record the output. The caller must
// call end when the child has ended.
func startRecording(s *Options) (end func()) {
	r := nextRecorder(s.DebugDir)
	if len(s.Stdin) > 0 {
		r.write("prompt", ".md", s.Stdin)
	}
	hide := secrets.NewRedactor(s.Env)
	argv := append([]string{s.Path}, s.Args...)
	for i := range argv {
		argv[i] = hide.Text(argv[i])
	}
	text, _ := json.Marshal(struct {
		Argv []string          `json:"argv"`
		Cwd  string            `json:"cwd"`
		Env  map[string]string `json:"environment"`
	}{argv, s.Dir, hide.Environ(s.environment())}, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.WithIndent("  "))
	r.write("command", ".json", append(text, '\n'))
	s.Stdout = r.tee(s.Stdout, "stdout", s.DebugStdout)
	s.Stderr = r.tee(s.Stderr, "stderr", ".txt")
	return func() {
		for _, f := range r.out {
			f.Close()
		}
	}
}

// tee returns a writer that writes to a new file and to w, which may be nil. If the file can't be
// created, it returns w.
func (r *recorder) tee(w io.Writer, name, extension string) io.Writer {
	f, _, err := files.OpenFile(r.path(name, extension), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return w
	}
	r.out = append(r.out, f)
	file := &CappedWriter{W: f, Room: maxRecorded}
	if w == nil {
		return file
	}
	return io.MultiWriter(file, w)
}

// write writes one of the recorder's files.
func (r *recorder) write(name, extension string, text []byte) {
	_ = files.Write(r.path(name, extension), text, 0o600)
}

// path returns the path of the recorder's file with this name. The path contains the invocation's number
// unless that is 1.
func (r *recorder) path(name, extension string) string {
	if r.n > 1 {
		name += "." + fmt.Sprint(r.n)
	}
	return filepath.Join(r.dir, name+extension)
}
