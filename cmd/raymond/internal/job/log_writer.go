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

// linePrefix begins every line that shows text of others: no command begins with
// it, whatever white space the runner skips.
const linePrefix = "│ "

var _ report.JobLog = (*LogWriter)(nil)

// LogWriter writes the job log: commands of ours, and text of others in a way that the
// runner obeys nothing in it. Such text is between stop-commands and a token. There is
// one token for the whole step: the runner treats each as a secret that it looks for in
// every later line of the job. Whoever learns it gains
// nothing, because no line of others can be a command, the one that resumes
// commands included. Nothing else may write to the same output. Its methods may be
// called from several goroutines.
type LogWriter struct {
	workspace string
	token     string // with which commands are obeyed again

	mu      sync.Mutex // guards all below
	out     *output
	runner  *githubactions.Action // writes commands to out
	stopped bool                  // commands are not obeyed
}

// output keeps the first error of a write: a lost log is no reason to end a run. The
// library would panic.
type output struct {
	w   io.Writer
	err error
}

// Write implements io.Writer. It never fails. The library ends lines as the system
// does; here all of them end alike.
func (o *output) Write(p []byte) (int, error) {
	if _, err := o.w.Write(bytes.ReplaceAll(p, []byte("\r\n"), []byte("\n"))); err != nil && o.err == nil {
		o.err = err
	}
	return len(p), nil
}

func (o *output) print(lines string) { _, _ = o.Write([]byte(lines)) }

// NewLogWriter returns the job log that is written to w, the step's stdout.
// workspace is GITHUB_WORKSPACE.
func NewLogWriter(w io.Writer, workspace string) *LogWriter {
	out := &output{w: w}
	return &LogWriter{workspace: workspace, token: rand.Text(), out: out, runner: githubactions.New(githubactions.WithWriter(out))}
}

// Print shows text that anybody may have written, each of its lines behind a
// prefix. Control characters and invisible ones are left out, and lines are cut
// at 8 KiB.
func (c *LogWriter) Print(text string) {
	var b strings.Builder
	for _, line := range printable(text) {
		b.WriteString(strings.TrimRight(linePrefix+line, " ") + "\n")
	}
	c.show(b.String())
}

// PrintStyled is Print for one line with colours of ours: sequences like "\x1b[32m", which
// the caller removes from the text of others. A line that is too long loses them.
func (c *LogWriter) PrintStyled(line string) {
	text := painted(line)
	if len(text) > maxLine {
		c.Print(line)
		return
	}
	c.show(strings.TrimRight(linePrefix+text, " ") + "\n")
}

// PrintOwn is Paint for a line of our own words, in which only names are chosen by others.
// Where nothing in the line can be read as a command, commands are not stopped, which
// saves the log two lines.
func (c *LogWriter) PrintOwn(line string) {
	text := strings.TrimRight(linePrefix+painted(line), " ")
	if len(text) > maxLine || !inert(text) {
		c.PrintStyled(line)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.print(text + "\n")
}

// inert reports whether no reader can find a command in a line: it has none of the
// marks that one begins with, and no character that a reader may skip in looking
// for them.
func inert(line string) bool {
	line = colours().ReplaceAllString(strings.TrimPrefix(line, linePrefix), "")
	strange := func(r rune) bool { return r == '#' || r != '…' && (r < ' ' || r > '~') }
	return !strings.Contains(line, "::") && !strings.ContainsFunc(line, strange)
}

// show writes lines that are no commands.
func (c *LogWriter) show(lines string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopped {
		c.stopped = true
		c.runner.IssueCommand(&githubactions.Command{Name: "stop-commands", Message: c.token})
	}
	c.out.print(lines)
}

// Group begins a group of lines that can be folded.
func (c *LogWriter) Group(title string) {
	c.command(func(a *githubactions.Action) { a.Group(upright(text.BreakCommandMark(oneLine(title)))) })
}

// EndGroup ends the group that was begun last.
func (c *LogWriter) EndGroup() { c.command((*githubactions.Action).EndGroup) }

// AddMask has the runner hide a value wherever it shows up in the log. A value of
// several lines is hidden line by line too, since the runner looks at lines;
// short lines of it are not, or the log would become unreadable.
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

// Annotate makes an annotation, whose file may be absolute. One on a file outside of the workspace is shown
// without a place.
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
	says := upright(strings.TrimSpace(text.Printable(a.Text)))
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

// relative is a file as it is named in the workspace; "" if it isn't in there.
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

// safeStart prevents a property from beginning with an equals sign, which the runner
// would drop.
func safeStart(value, before string) string {
	if strings.HasPrefix(value, "=") {
		return before + value
	}
	return value
}

// command gives the runner commands of ours, where they are obeyed.
func (c *LogWriter) command(give func(*githubactions.Action)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resume()
	give(c.runner)
}

// resume ends what stop-commands began.
func (c *LogWriter) resume() {
	if c.stopped {
		c.out.print("::" + c.token + "::\n")
		c.stopped = false
	}
}

// Close leaves the log as a later writer expects it, and returns the first error
// of a write. The log can be used again after it.
func (c *LogWriter) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resume()
	return c.out.err
}
