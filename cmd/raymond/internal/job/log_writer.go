package job

import (
	"bytes"
	"crypto/rand"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/sethvargo/go-githubactions"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/report"
)

// linePrefix begins every line that shows text from outside. A line with this prefix can't be a
// workflow command, even if the runner skips white space before commands.
const linePrefix = "│ "

var _ report.JobLog = (*LogWriter)(nil)

// LogWriter writes the job log. The log contains our workflow commands and text from outside, in which
// the runner must not find commands. Before such text, LogWriter writes the command stop-commands with
// a token; after it, it writes the token, which resumes commands.
//
// A step uses only one token, because the runner treats each token as a secret and searches all later
// lines of the job for it. Knowing the token doesn't help an attacker: no line of text from outside can
// be a command, including the command that resumes commands.
//
// Nothing else may write to the LogWriter's output. The methods may be called concurrently.
type LogWriter struct {
	workspace string
	token     string // resumes commands after stop-commands

	mu        sync.Mutex // guards the fields below
	out       *output
	runner    *githubactions.Action // writes commands to out
	isStopped bool                  // the runner ignores commands
}

// output is an io.Writer that records the first error instead of returning it. A run must continue
// even if its log can't be written, and the githubactions library would panic.
type output struct {
	w   io.Writer
	err error
}

// Write implements io.Writer. It never returns an error. The library ends lines with "\r\n" on Windows;
// Write replaces that with "\n".
func (o *output) Write(p []byte) (int, error) {
	if _, err := o.w.Write(bytes.ReplaceAll(p, []byte("\r\n"), []byte("\n"))); err != nil && o.err == nil {
		o.err = err
	}
	return len(p), nil
}

func (o *output) print(lines string) { _, _ = o.Write([]byte(lines)) }

// NewLogWriter returns a LogWriter for w, the step's stdout. workspace is GITHUB_WORKSPACE.
func NewLogWriter(w io.Writer, workspace string) *LogWriter {
	out := &output{w: w}
	return &LogWriter{workspace: workspace, token: rand.Text(), out: out, runner: githubactions.New(githubactions.WithWriter(out))}
}

// Print shows text from outside. Each line gets the prefix linePrefix. Control characters and invisible
// characters are removed, and lines are cut at 8 KiB.
func (c *LogWriter) Print(lines string) {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimSuffix(text.Printable(lines), "\n"), "\n") {
		// A mark of a command in the runner's old syntax (##[…]) is broken.
		b.WriteString(strings.TrimRight(linePrefix+text.BreakCommandMark(cut(line)), " ") + "\n")
	}
	c.show(b.String())
}

// PrintStyled prints one line like Print, but keeps colours: sequences like "\x1b[32m". The caller must
// have removed such sequences from text from outside. A line that is too long loses its colours.
func (c *LogWriter) PrintStyled(line string) {
	text := styledLine(line)
	if len(text) > maxLine {
		c.Print(line)
		return
	}
	c.show(strings.TrimRight(linePrefix+text, " ") + "\n")
}

// PrintOwn is like PrintStyled for a line that this program has composed, in which only names come
// from outside. If nothing in the line can be read as a command, PrintOwn doesn't stop commands before
// it, which saves two lines of the log.
func (c *LogWriter) PrintOwn(line string) {
	text := strings.TrimRight(linePrefix+styledLine(line), " ")
	if len(text) > maxLine || !isInert(text) {
		c.PrintStyled(line)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.print(text + "\n")
}

// isInert reports whether no runner can find a command in a line. Such a line contains neither a mark
// that begins a command nor a character that a runner may skip before a mark.
func isInert(line string) bool {
	line = colours().ReplaceAllString(strings.TrimPrefix(line, linePrefix), "")
	strange := func(r rune) bool { return r == '#' || r != '…' && (r < ' ' || r > '~') }
	return !strings.Contains(line, "::") && !strings.ContainsFunc(line, strange)
}

// show writes lines in which the runner must not find commands. It stops commands before them.
func (c *LogWriter) show(lines string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isStopped {
		c.isStopped = true
		c.runner.IssueCommand(&githubactions.Command{Name: "stop-commands", Message: c.token})
	}
	c.out.print(lines)
}

// Group begins a group of lines, which readers of the log can fold.
func (c *LogWriter) Group(title string) {
	c.command(func(a *githubactions.Action) { a.Group(avoidCombining(text.BreakCommandMark(oneLine(title)))) })
}

// EndGroup ends the group that began last.
func (c *LogWriter) EndGroup() { c.command((*githubactions.Action).EndGroup) }

// AddMask makes the runner mask a value in the log. The runner searches single lines, so each line of a
// multi-line value is masked too. Lines of less than 8 bytes are not, because masking them would make
// the log unreadable.
func (c *LogWriter) AddMask(value string) {
	if strings.TrimSpace(value) == "" {
		return
	}
	values := []string{value}
	if strings.ContainsAny(value, "\r\n") {
		for _, line := range lines(strings.ReplaceAll(value, "\r", "\n")) {
			if len(line) >= 8 {
				values = append(values, line)
			}
		}
	}
	c.command(func(a *githubactions.Action) {
		for _, v := range values {
			a.AddMask(v)
		}
	})
}

// Annotate writes an annotation. Its file may be an absolute path. If the file is outside of the
// workspace, the annotation is written without file and line.
func (c *LogWriter) Annotate(a report.Annotation) {
	fields := map[string]string{}
	if file := c.relative(a.File); file != "" {
		fields["file"] = file
		if a.Line > 0 {
			fields["line"] = strconv.Itoa(a.Line)
		}
	}
	if title := oneLine(a.Title); title != "" {
		fields["title"] = safeStart(title, " ")
	}
	says := avoidCombining(strings.TrimSpace(text.Printable(a.Text)))
	c.command(func(runner *githubactions.Action) {
		switch runner = runner.WithFieldsMap(fields); a.Level {
		case report.LevelError:
			runner.Errorf("%s", says)
		case report.LevelWarning:
			runner.Warningf("%s", says)
		default:
			runner.Noticef("%s", says)
		}
	})
}

// relative returns the path of a file relative to the workspace. It returns "" for a file outside of it.
func (c *LogWriter) relative(file string) string {
	if file == "" {
		return ""
	}
	if filepath.IsAbs(file) {
		below, err := filepath.Rel(c.workspace, file)
		if err != nil {
			return ""
		}
		file = below
	}
	if !filepath.IsLocal(file) {
		return ""
	}
	return safeStart(oneLine(filepath.ToSlash(filepath.Clean(file))), "./")
}

// safeStart puts the text before in front of a value that begins with an equals sign, because the runner
// would drop the equals sign.
func safeStart(value, before string) string {
	if strings.HasPrefix(value, "=") {
		return before + value
	}
	return value
}

// command resumes commands if they are stopped, and then calls give, which writes our commands.
func (c *LogWriter) command(give func(*githubactions.Action)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resume()
	give(c.runner)
}

// resume resumes commands after stop-commands. It does nothing if commands are not stopped.
func (c *LogWriter) resume() {
	if c.isStopped {
		c.out.print("::" + c.token + "::\n")
		c.isStopped = false
	}
}

// Close resumes commands for later writers of the log, and returns the first write error. The LogWriter
// can still be used afterwards.
func (c *LogWriter) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resume()
	return c.out.err
}
