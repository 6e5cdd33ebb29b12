package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// tables are the files with the mutants. A mutant is a block of lines:
//
//	mutant NAME: what it does
//	tests ./PACKAGE TestOne TestTwo
//	in FILE
//	- the text that is replaced, which the file has exactly once
//	+ what replaces it
//
// A text of several lines has several lines with "-" or "+"; without any "+" the text is
// removed. A mutant may have further texts, files and packages with tests. Lines that
// begin with "#" are comments.
//
//go:embed table/*.txt
var tables embed.FS

// mutant is a change of the program that tests must notice.
type mutant struct {
	name, what string
	tests      []testRun
	edits      []edit
}

// testRun are tests of one package, by their names.
type testRun struct {
	pkg   string
	names []string
}

// edit replaces a text of a file.
type edit struct{ file, before, after string }

// readTables returns all mutants, in the order of the files' names.
func readTables() ([]mutant, error) {
	names, err := fs.Glob(tables, "table/*.txt")
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, name := range names {
		data, err := tables.ReadFile(name)
		if err != nil {
			return nil, err
		}
		some, err := parse(string(data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// matching returns the mutants whose names match a regular expression; all for "".
func matching(all []mutant, pattern string) ([]mutant, error) {
	form, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	some := slices.DeleteFunc(all, func(m mutant) bool { return !form.MatchString(m.name) })
	if len(some) == 0 {
		return nil, fmt.Errorf("no mutant has a name like %q", pattern)
	}
	return some, nil
}

// parse reads a table.
func parse(table string) ([]mutant, error) {
	p := parser{}
	n := 0
	for line := range strings.Lines(table) {
		n++
		if err := p.line(strings.TrimSuffix(line, "\n")); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	for _, m := range p.all {
		if len(m.tests) == 0 || len(m.edits) == 0 {
			return nil, fmt.Errorf("mutant %s: it needs tests and a change", m.name)
		}
	}
	return p.all, nil
}

// parser reads a table line by line.
type parser struct {
	all  []mutant
	file string // of the last line with "in"
	mark byte   // of the line before, if it is part of a change
}

var heading = regexp.MustCompile(`^([a-z0-9-]+): (.+)$`)

func (p *parser) line(line string) error {
	before := p.mark
	p.mark = 0
	word, rest, _ := strings.Cut(line, " ")
	if word == "" || strings.HasPrefix(word, "#") {
		return nil
	}
	if word == "mutant" {
		m := heading.FindStringSubmatch(rest)
		if m == nil {
			return fmt.Errorf("%q is not NAME: what it does", rest)
		}
		p.all, p.file = append(p.all, mutant{name: m[1], what: m[2]}), ""
		return nil
	}
	if len(p.all) == 0 {
		return errors.New("the first line is to name a mutant")
	}
	last := &p.all[len(p.all)-1]
	switch word {
	case "tests":
		pkg, names, _ := strings.Cut(rest, " ")
		last.tests = append(last.tests, testRun{pkg, strings.Fields(names)})
	case "in":
		p.file = rest
	case "-", "+":
		p.mark = word[0]
		return last.change(p.file, before, p.mark, rest)
	default:
		return fmt.Errorf("%q is none of mutant, tests, in, - and +", word)
	}
	return nil
}

// change adds a line to the last text of a mutant, or begins another one. before is the
// mark of the line before.
func (m *mutant) change(file string, before, mark byte, text string) error {
	if file == "" || mark == '+' && before == 0 {
		return errors.New("a text needs a file and what it replaces")
	}
	if mark == '-' && before != '-' {
		m.edits = append(m.edits, edit{file: file, before: text})
		return nil
	}
	e := &m.edits[len(m.edits)-1]
	switch {
	case mark == '-':
		e.before += "\n" + text
	case before == '-':
		e.after = text
	default:
		e.after += "\n" + text
	}
	return nil
}

// apply returns the changed files of a mutant, by their names below root.
func (m *mutant) apply(root string) (map[string]string, error) {
	changed := map[string]string{}
	for _, file := range m.files() {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		if changed[file], err = m.applyTo(file, string(data)); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// files are those that a mutant changes.
func (m *mutant) files() []string {
	var all []string
	for _, e := range m.edits {
		if !slices.Contains(all, e.file) {
			all = append(all, e.file)
		}
	}
	return all
}

// applyTo makes all changes of one file. Each text is looked for in the file as it is.
func (m *mutant) applyTo(file, text string) (string, error) {
	var pairs []string
	for _, e := range m.edits {
		if e.file != file {
			continue
		}
		if n := strings.Count(text, e.before); n != 1 {
			return "", fmt.Errorf("%s has this text %d times, not once:\n%s", file, n, e.before)
		}
		pairs = append(pairs, e.before, e.after)
	}
	return strings.NewReplacer(pairs...).Replace(text), nil
}
