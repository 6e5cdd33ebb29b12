package job

import (
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

// Annotation is a remark that the forge shows beside the code. Here its file may
// be absolute, too.
type Annotation = report.Annotation

var _ report.JobLog = (*Commands)(nil)

// Commands writes the job log: text of others so that the runner takes nothing in
// it for a command, and commands of ours. Text stands between stop-commands and a
// token. There is one token for all of the step: the runner keeps each as a secret
// that it looks for in every later line of the job. Whoever learns it gains
// nothing, because no line of others can be a command, the one that resumes
// commands included. Nothing else may write to the same output. Its methods may be
// called from several goroutines.
type Commands struct {
	workspace string
	token     string // by which commands are resumed

	mu      sync.Mutex // guards all below
	w       io.Writer
	stopped bool  // commands are
	err     error // the first of a write
}

// NewCommands returns the job log that is written to w, the step's stdout.
// workspace is GITHUB_WORKSPACE.
func NewCommands(w io.Writer, workspace string) *Commands {
	return &Commands{w: w, workspace: workspace, token: randomToken()}
}

// Print shows text that anybody may have written, each of its lines behind a
// prefix. Control characters and invisible ones are left out, and lines are cut
// at 8 KiB.
func (c *Commands) Print(text string) {
	var b strings.Builder
	for _, line := range printable(text) {
		b.WriteString(strings.TrimRight(linePrefix+line, " ") + "\n")
	}
	c.show(b.String())
}

// Paint is Print for one line in which stand colours of ours: sequences like
// "\x1b[32m", which the caller lets no text of others have. A line that is too
// long loses them.
func (c *Commands) Paint(line string) {
	text := painted(line)
	if len(text) > maxLine {
		c.Print(line)
		return
	}
	c.show(strings.TrimRight(linePrefix+text, " ") + "\n")
}

// Say is Paint for a line of our own words, in which there are at most names that
// others chose. Where nothing in it can be read as a command it does not stop
// them, which would cost the log two more lines.
func (c *Commands) Say(line string) {
	text := strings.TrimRight(linePrefix+painted(line), " ")
	if len(text) > maxLine || !inert(text) {
		c.Paint(line)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write(text + "\n")
}

// inert reports whether no reader can find a command in a line: it has none of the
// marks that one begins with, and no character that a reader may skip in looking
// for them.
func inert(line string) bool {
	line = colours.ReplaceAllString(strings.TrimPrefix(line, linePrefix), "")
	strange := func(r rune) bool { return r == '#' || r != '…' && (r < ' ' || r > '~') }
	return !strings.Contains(line, "::") && !strings.ContainsFunc(line, strange)
}

// show writes lines that are no commands.
func (c *Commands) show(lines string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopped {
		c.stopped = true
		c.write(command("stop-commands", c.token, nil))
	}
	c.write(lines)
}

// Group begins a group of lines that can be folded.
func (c *Commands) Group(title string) {
	c.issue(command("group", text.Unmarked(oneLine(title)), nil))
}

// EndGroup ends the group that was begun last.
func (c *Commands) EndGroup() { c.issue(command("endgroup", "", nil)) }

// Debug shows a line to those who have debug logging on.
func (c *Commands) Debug(s string) {
	c.issue(command("debug", text.Unmarked(oneLine(s)), nil))
}

// AddMask has the runner hide a value wherever it shows up in the log. A value of
// several lines is hidden line by line too, since the runner looks at lines;
// short lines of it are not, or the log would become unreadable.
func (c *Commands) AddMask(value string) {
	if strings.TrimSpace(value) == "" {
		return
	}
	text := exactly("add-mask", value)
	if strings.ContainsAny(value, "\r\n") {
		for _, line := range lines(strings.ReplaceAll(value, "\r", "\n")) {
			if len(line) >= 8 {
				text += exactly("add-mask", line)
			}
		}
	}
	c.issue(text)
}

// Annotate makes an annotation. One on a file outside of the workspace is shown
// without a place.
func (c *Commands) Annotate(a Annotation) {
	level := a.Level
	if level != report.LevelError && level != report.LevelWarning {
		level = report.LevelNotice
	}
	properties := githubactions.CommandProperties{}
	if file := c.relative(a.File); file != "" {
		properties["file"] = file
		if a.Line > 0 {
			properties["line"] = strconv.Itoa(a.Line)
		}
	}
	if title := oneLine(a.Title); title != "" {
		properties["title"] = safeStart(title, " ")
	}
	c.issue(command(level, multiLine(a.Text), properties))
}

// relative is a file as it is named in the workspace; "" if it isn't in there.
func (c *Commands) relative(file string) string {
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

// safeStart keeps a property from beginning with an equals sign, which the
// runner would drop.
func safeStart(value, before string) string {
	if strings.HasPrefix(value, "=") {
		return before + value
	}
	return value
}

// command is a line that the runner carries out.
func command(name, data string, properties githubactions.CommandProperties) string {
	cmd := githubactions.Command{Name: name, Message: upright(data), Properties: properties}
	return cmd.String() + "\n"
}

// exactly is a command whose data may not be changed, whatever it begins with.
func exactly(name, data string) string {
	return (&githubactions.Command{Name: name, Message: data}).String() + "\n"
}

// issue writes commands of ours, where they are obeyed.
func (c *Commands) issue(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resume()
	c.write(text)
}

// resume ends what stop-commands began.
func (c *Commands) resume() {
	if c.stopped {
		c.write("::" + c.token + "::\n")
		c.stopped = false
	}
}

// write keeps the first error: the log going away is no reason to end a run.
func (c *Commands) write(text string) {
	if _, err := io.WriteString(c.w, text); err != nil && c.err == nil {
		c.err = err
	}
}

// Close leaves the log as a later writer expects it, and returns the first error
// of a write. The log can be used again after it.
func (c *Commands) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resume()
	return c.err
}
