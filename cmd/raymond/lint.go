package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/protocol"
)

// lintRun is one call of lint.
type lintRun struct {
	format    string
	platforms []protocol.Platform
	meta      []string

	seen  map[remark]bool
	found []remark
	lines map[string][]string // the lines of the files with remarks, by path
}

// remark is a finding as lint prints it.
type remark struct {
	File     string            `json:"file"` // as the editor finds it
	Line     int               `json:"line"` // 0: the workflow as a whole
	Col      int               `json:"col"`
	Severity protocol.Severity `json:"severity"`
	Code     string            `json:"code"`
	Message  string            `json:"message"`
	Hint     string            `json:"hint"`
}

func (a *App) lintCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "lint PATH...", Short: "check workflows without running them",
		Long: "lint checks workflows: directories, zip archives or single state files. It exits with 7\n" +
			"when something must be fixed before a run, with 0 when there are only warnings and hints.",
	}
	o := &options{cmd: cmd, set: map[string]bool{}}
	a.options[cmd] = o
	l := &lintRun{format: "text", platforms: []protocol.Platform{platform()}, seen: map[remark]bool{}, lines: map[string][]string{}}
	l.addFlags(o)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			o.errs = append(o.errs, problem.Usage("PATH", "is missing", "name directories, zip archives or state files"))
		}
		scopes, err := l.open(args)
		defer closeAll(scopes)
		if err := errors.Join(o.check(), err); err != nil {
			return err
		}
		for i, s := range scopes {
			l.check(args[i], s)
		}
		return errors.Join(l.print(a.Stdout), l.verdict())
	}
	return cmd
}

func (l *lintRun) addFlags(o *options) {
	o.add("format", "FORMAT", "text, json, or github for annotations (default text)", func(s string) error {
		l.format = s
		return oneOf(s, "text", "json", "github")
	})
	o.add("platform", "NAME", "unix, windows or all (default: this one)", func(s string) error {
		l.platforms = []protocol.Platform{protocol.Platform(s)}
		if s == "all" {
			l.platforms = []protocol.Platform{protocol.Unix, protocol.Windows}
		}
		return oneOf(s, "unix", "windows", "all")
	})
	o.add("meta", "KEY", "a key that runs are given with --meta (repeatable)", func(s string) error {
		l.meta = append(l.meta, s)
		if !metaKey.MatchString(s) {
			return errors.New("want a key of letters, digits and _")
		}
		return nil
	})
}

// oneOf checks a flag that takes one of some words.
func oneOf(s string, words ...string) error {
	if slices.Contains(words, s) {
		return nil
	}
	return errors.New("want " + strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1])
}

// open opens what the paths name, a nil scope for an archive that is no workflow.
// What can't be one is an error of class usage.
func (l *lintRun) open(paths []string) ([]*scope, error) {
	var scopes []*scope
	var errs []error
	for _, path := range paths {
		s, err := findScope(path)
		for _, f := range problem.All(err) {
			if f.Class != problem.ClassWorkflow {
				errs = append(errs, f)
				continue
			}
			l.add(remark{File: path, Severity: protocol.SeverityError, Code: "zip", Message: f.What, Hint: f.Hint})
		}
		scopes = append(scopes, s)
	}
	return scopes, errors.Join(errs...)
}

func closeAll(scopes []*scope) {
	for _, s := range scopes {
		if s != nil {
			s.close()
		}
	}
}

func (l *lintRun) add(r remark) {
	if !l.seen[r] {
		l.seen[r] = true
		l.found = append(l.found, r)
	}
}

// check lints one workflow for each platform.
func (l *lintRun) check(path string, s *scope) {
	if s == nil {
		return
	}
	on := map[protocol.Finding][]protocol.Platform{}
	var found []protocol.Finding
	for _, p := range l.platforms {
		o := protocol.LintOptions{LoadOptions: protocol.LoadOptions{Entry: s.entry, Platform: p}, Meta: l.meta}
		for _, f := range s.lint(o) {
			if len(on[f]) == 0 {
				found = append(found, f)
			}
			on[f] = append(on[f], p)
		}
	}
	protocol.SortFindings(found)
	for _, f := range found {
		if len(on[f]) < len(l.platforms) {
			f.Message += where(f.Message, on[f][0])
		}
		l.add(l.remark(path, s, f))
	}
}

// where says that a finding holds on one platform only, unless it says so.
func where(message string, p protocol.Platform) string {
	if strings.Contains(message, "on "+string(p)) {
		return ""
	}
	return " (on " + string(p) + ")"
}

func (l *lintRun) remark(path string, s *scope, f protocol.Finding) remark {
	r := remark{File: path, Line: f.Pos.Line, Col: f.Pos.Col, Severity: f.Severity, Code: f.Code, Message: f.Message, Hint: f.Hint}
	if f.File == "" {
		return r
	}
	if s.entry != "" {
		path = filepath.Dir(path)
	}
	r.File = filepath.Join(path, f.File)
	if _, known := l.lines[r.File]; !known {
		l.lines[r.File] = linesOf(s.fsys, f.File)
	}
	return r
}

// linesOf returns the lines of a file, none when it can't be read.
func linesOf(fsys fs.FS, name string) []string {
	info, err := fs.Stat(fsys, name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxInput {
		return nil
	}
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n")
}

// verdict is the error of a lint that found some.
func (l *lintRun) verdict() error {
	if l.count(protocol.SeverityError) == 0 {
		return nil
	}
	return &problem.Problem{Class: problem.ClassWorkflow, Where: "lint", What: l.summary(), Hint: "fix the errors before a run"}
}

func (l *lintRun) count(s protocol.Severity) int {
	n := 0
	for _, r := range l.found {
		if r.Severity == s {
			n++
		}
	}
	return n
}

// summary counts the remarks. It names no severity of which there is none.
func (l *lintRun) summary() string {
	var parts []string
	for _, s := range []protocol.Severity{protocol.SeverityError, protocol.SeverityWarning, protocol.SeverityHint} {
		n := l.count(s)
		switch {
		case n == 1:
			parts = append(parts, "1 "+string(s))
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", n, s))
		}
	}
	if len(parts) == 0 {
		return "no problems"
	}
	return strings.Join(parts, ", ")
}
