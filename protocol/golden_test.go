package protocol

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/goldentest"
)

// take removes a file that configures a test from files, and returns its trimmed text.
func take(files map[string]string, name string) string {
	text := files[name]
	delete(files, name)
	return strings.TrimSpace(text)
}

// mapFS returns a file system with the given files. A file whose text is LINK and a path becomes a
// symbolic link to that path.
func mapFS(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range files {
		file := &fstest.MapFile{Data: goldentest.Bytes(text)}
		if target, ok := strings.CutPrefix(text, "LINK "); ok {
			file = &fstest.MapFile{Data: []byte(strings.TrimSpace(target)), Mode: fs.ModeSymlink}
		}
		fsys[name] = file
	}
	return fsys
}

// optionsOf removes the files entry and platform, and returns the options that they set.
func optionsOf(files map[string]string) LoadOptions {
	o := LoadOptions{Entry: take(files, "entry"), Platform: Unix}
	if p := take(files, "platform"); p != "" {
		o.Platform = Platform(p)
	}
	return o
}

// listing prints each problem in one line, with a title and the problem's code.
func listing(title string, problems []Problem) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "%s [%s] %v\n", title, p.Code, p)
	}
	return b.String()
}

// TestDecide compares the decisions about messages with golden files. For messages with problems,
// it compares the problems and the reminder.
func TestDecide(t *testing.T) {
	goldentest.Each(t, "testdata/decide/*.txtar", func(t *testing.T, files map[string]string) string {
		o := optionsOf(files)
		from, returns, message := take(files, "from"), take(files, "returns"), files["message"]
		meta := map[string]string{}
		for _, name := range strings.Fields(take(files, "meta")) {
			meta[name] = ""
		}
		delete(files, "message")
		w, problems := Load(mapFS(files), o)
		assert.Assert(t, is.Nil(problems), "load: %v", problems)
		d, problems := w.Decide(from, string(goldentest.Bytes(strings.TrimSuffix(message, "\n"))), returns, meta)
		if problems == nil {
			return showDecision(d)
		}
		return listing("problem", problems) + "\n" + w.Reminder(from, problems)
	})
}

// showDecision prints a decision for a golden file.
func showDecision(d Decision) string {
	var b strings.Builder
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %s %q\n", name, value)
		}
	}
	for _, s := range d.Spawns {
		fmt.Fprintf(&b, "spawn %s next %s\n", s.State, s.Next)
		field("dir", s.Dir)
		field("input", s.Input)
		for _, name := range slices.Sorted(maps.Keys(s.Vars)) {
			field("var "+name, s.Vars[name])
		}
	}
	fmt.Fprintf(&b, "then %s %s\n", d.Then.Verb, d.Then.To)
	field("return", d.Then.Return)
	field("dir", d.Then.Dir)
	field("agent", d.Then.Backend)
	field("model", d.Then.Model)
	field("input", d.Then.Input)
	field("text", d.Then.Text)
	if d.Then.After > 0 {
		field("after", d.Then.After.String())
	}
	if q := d.Then.Question; q != nil {
		asked, _ := json.Marshal(q)
		fmt.Fprintf(&b, "  question %s\n", asked)
	}
	return b.String()
}

// TestLoad compares the states in folders, and the problems that prevent a run from starting, with
// golden files.
func TestLoad(t *testing.T) {
	goldentest.Each(t, "testdata/load/*.txtar", func(_ *testing.T, files map[string]string) string {
		o := optionsOf(files)
		w, problems := Load(mapFS(files), o)
		text := fmt.Sprintf("entry %q\nnames %q\nreachable %q\nscripts %v\n", w.Entry(), w.Names(), slices.Sorted(slices.Values(w.reachable)), w.HasScripts())
		text += listing("problem", problems)
		for _, name := range w.Names() {
			s, _ := w.State(name)
			text += listing("warning", s.Warnings)
			if job := w.JobOf(name); job != MainJob {
				text += fmt.Sprintf("job %s of %s\n", job, name)
			}
			if s.OnComment != "" {
				text += fmt.Sprintf("on_comment %s of %s\n", s.OnComment, name)
			}
		}
		if w.HasJoin() {
			text += "join\n"
		}
		return text
	})
}

// TestFrontmatter compares the policies of state files, and their problems, with golden files.
func TestFrontmatter(t *testing.T) {
	goldentest.Each(t, "testdata/frontmatter/*.txtar", func(t *testing.T, files map[string]string) string {
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(files)) {
			s := newState(name, &scope{})
			s.parse(goldentest.Bytes(files[name]))
			policy, err := json.MarshalIndent(s.Policy, "", " ")
			assert.NilError(t, err)
			fmt.Fprintf(&b, "%s marked %v line %d body %q\n", name, s.Evidence.HasMarker, s.Line, s.Body)
			if s.Trusted {
				fmt.Fprintf(&b, "trusted work %v workflows %v\n", s.Work, s.Workflows)
			}
			if s.Job+s.OnComment != "" {
				fmt.Fprintf(&b, "job %q on_comment %q\n", s.Job, s.OnComment)
			}
			b.WriteString(listing("problem", s.Problems) + listing("warning", s.Warnings))
			if len(s.Problems) == 0 {
				for line := range strings.Lines(string(policy)) { // without the lines that have a zero value
					line = strings.TrimRight(line, "\n,")
					if !strings.HasSuffix(line, ": null") && (!strings.HasSuffix(line, `: ""`) || strings.Contains(line, "Payload")) && !strings.HasSuffix(line, ": false") {
						b.WriteString(line + "\n")
					}
				}
			}
		}
		return b.String()
	})
}
