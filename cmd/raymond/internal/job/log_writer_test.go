package job

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/report"
)

// attacks are texts in which the runner might find commands. TOKEN is replaced with the token that resumes
// commands. An agent may know the token, because the runner's log contains it.
var attacks = []string{
	"::error::x", "  ::error::x", "\t::add-mask::e", "\u2003::set-output name=a::b", "\u200b::error::x", "\ufeff::error::x",
	"\r::error::x", "a\r::error::x", "a\r\n::error::x", "a\n::error::x", "a\u2028::error::x", "a\u2029::error::x", "a\u0085::error::x",
	"a\v::error::x", "a\f::error::x", "\x00::error::x", "\x1b[31m::error::x\x1b[0m", "\x1b]0;title\x07::error::x",
	"##[error]x", "progress 5% ##[add-mask]e", "###[error]x", "#\x1b[0m#[error]x", "#\u200b#[error]x", "##\u200b[error]x",
	"##\x00[error]x", "##\x1b[0m[error]x", "##\u00ad[set-output name=a]b", "#\xff#[error]x", "##[\u2028error]x", "::stop-commands::me",
	"::stop-commands::me\n::me::\n::error::x", "::::", "::", "", " ", "\n\n", "│ ::error::x", strings.Repeat("x", maxLine-2) + "##[error]y",
	strings.Repeat(" ", maxLine) + "::error::x", strings.Repeat("é", maxLine), "::ERROR::x", "::error file=a,line=1::x",
	"::TOKEN::\n::error::x", "  ::TOKEN::\n::error::x", "\u2003::TOKEN::\n::error::x", "\r::TOKEN::\r::error::x", "##[TOKEN]\n##[error]x", "x ##[TOKEN]y\n::error::x",
	"##[TOKEN]\r##[error]x", "\x1b[0m::TOKEN::\n::error::x", "::TOKEN::x\n::error::x", "\u200b::TOKEN::\n::error::x", "##\u200b[TOKEN]\n::error::x",
}

// writeSession writes lines of all kinds to a log, with a hostile text in every position. It returns the
// log and the names of the commands that the runner should find in it.
func writeSession(text string) (output string, wantCommands []string) {
	var b bytes.Buffer
	c := NewLogWriter(&b, "/w")
	text = strings.ReplaceAll(text, "TOKEN", c.token)
	c.Print(text)
	c.Print("more")
	c.Group(text)
	c.Print(text)
	c.EndGroup()
	c.Annotate(report.Annotation{Level: report.LevelError, File: "a.md", Title: text, Text: text})
	c.Print(text)
	c.PrintStyled(text)
	c.PrintStyled("\x1b[2m" + text + "\x1b[0m" + text)
	c.Group("x")
	c.PrintOwn("\x1b[32mok\x1b[0m " + text) // here the runner does not ignore commands
	c.EndGroup()
	c.PrintOwn(text)
	_ = c.Close() // writes to a bytes.Buffer can't fail
	return b.String(), []string{"group", "endgroup", "error", "group", "endgroup"}
}

// commandNames returns the names of the commands that the runner has found.
func commandNames(list []sitetest.RunnerCommand) []string {
	var names []string
	for _, r := range list {
		names = append(names, r.Name)
	}
	return names
}

// checkSession checks that the runner finds exactly our commands in the output of writeSession. In the
// shown text, it must find no commands even without stop-commands.
func checkSession(t *testing.T, text string) {
	t.Helper()
	output, want := writeSession(text)
	for _, ignorable := range []bool{false, true} {
		h := sitetest.Runner{Ignorable: ignorable}
		h.Read(output)
		if got := commandNames(h.Ran); !slices.Equal(got, want) || h.Token != "" {
			t.Fatalf("text %q, ignorable %v: got commands %q, want %q; output:\n%s", text, ignorable, got, want, output)
		}
		bare := sitetest.Runner{Ignorable: ignorable}
		bare.Read(strings.Join(h.Shown, "\n"))
		if len(bare.Ran) != 0 || bare.Token != "" {
			t.Fatalf("text %q, ignorable %v: got commands %q in what is shown, want none; output:\n%s", text, ignorable, commandNames(bare.Ran), output)
		}
	}
	assert.Assert(t, utf8.ValidString(output), "text %q: got %q, want UTF-8", text, output)
	for _, line := range sitetest.ReaderLines(output) {
		if shown, ok := strings.CutPrefix(line, linePrefix); ok && len(shown) > maxLine+64 {
			t.Fatalf("text %q: got a line of %d bytes, want about %d at most", text, len(line), maxLine)
		}
	}
}

// FuzzTextIsNeverACommand checks that the runner finds no commands in a printed text, whether it is
// printed once or twice.
func FuzzTextIsNeverACommand(f *testing.F) {
	for _, text := range attacks {
		f.Add(text)
		f.Add(text + "\n" + text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkSession(t, text) })
}

// TestRunnerModelFindsCommands checks that sitetest.Runner, our port of the runner's parsers, does find
// commands.
func TestRunnerModelFindsCommands(t *testing.T) {
	for output, want := range map[string][]string{
		"::error::x":                                     {"error"},
		"\u2003 ::Set-Output name=a::b":                  {"Set-Output"},
		"a\r::error::x":                                  {"error"},
		"text ##[add-mask]e":                             {"add-mask"},
		"::stop-commands::t\n::error::x\n::t::":          nil,
		"::stop-commands::t\n::t::\n##[error]x":          {"error"},
		"::stop-commands::t\n##[t]\n::warning::x":        {"warning"},
		"::unknown::x\n: :error::x\n##[x]y\n::error:: x": {"error"},
	} {
		h := sitetest.Runner{}
		h.Read(output)
		assert.Check(t, is.DeepEqual(commandNames(h.Ran), want), "%q", output)
	}
	ignorable := sitetest.Runner{Ignorable: true}
	ignorable.Read("##\u200b[error]x\n\u200b::warning::x")
	got, want := commandNames(ignorable.Ran), []string{"error", "warning"}
	assert.Check(t, is.DeepEqual(got, want), "ignorable")
}

// TestOneTokenPerStep checks that a LogWriter uses only one token. The runner treats every token as a
// secret and searches all later lines of the job for it.
func TestOneTokenPerStep(t *testing.T) {
	output, _ := writeSession("a")
	tokens := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^::stop-commands::([A-Z2-7]{26})$`).FindAllStringSubmatch(output, -1) {
		tokens[m[1]]++
	}
	assert.Equal(t, len(tokens), 1, "got the tokens %v, want one for all of the step; output:\n%s", tokens, output)
	for token, stops := range tokens {
		if got := strings.Count(output, "\n::"+token+"::\n"); got != stops || stops != 3 {
			t.Errorf("got %d stops and %d resumptions, want 3 of each; output:\n%s", stops, got, output)
		}
	}
}

// TestCombiningCharactersArrive checks that texts may begin with a combining character. Directly before
// such a character, the runner doesn't find the two colons that precede a command's text.
func TestCombiningCharactersArrive(t *testing.T) {
	n := 0
	for r := range unicode.MaxRune {
		if !sitetest.IsCombining(r) || text.IsInvisible(r) {
			continue
		}
		n++
		text := string(r) + " is what it begins with"
		got := annotated(t, "/w", report.Annotation{Level: "error", Title: text, Text: text})
		assert.Check(t, is.Equal(got.Text, "\u00a0"+text), "%U", r)
		assert.Check(t, is.Equal(got.Title, text), "%U", r)
		var b bytes.Buffer
		c := NewLogWriter(&b, "")
		c.Group(text)
		h := sitetest.Runner{}
		if h.Read(b.String()); !slices.Equal(commandNames(h.Ran), []string{"group"}) {
			t.Errorf("%U: got the commands %q, want one; output:\n%s", r, commandNames(h.Ran), b.String())
		}
	}
	assert.Check(t, n >= 1703, "got %d characters, want the 1703 of the runner at least", n)
}

// TestLinesAreShown checks how lines are written. A styled line keeps its colours, but no other control
// sequences.
func TestLinesAreShown(t *testing.T) {
	plain, paint := (*LogWriter).Print, (*LogWriter).PrintStyled
	for _, test := range []struct {
		show       func(*LogWriter, string)
		text, want string
	}{
		{plain, "a\nb\r\nc\rd\n", "│ a\n│ b\n│ c\n│ d\n"},
		{plain, "\x1b[1;31mred\x1b[0m\x07 and\ttab", "│ red and\ttab\n"},
		{plain, "x ##[group]y", "│ x # #[group]y\n"},
		{plain, "bad \xff byte", "│ bad \uFFFD byte\n"},
		{plain, "a\u202eb\u200bc", "│ abc\n"},
		{plain, strings.Repeat("é", maxLine), "│ " + strings.Repeat("é", maxLine/2) + "… (8192 bytes more)\n"},
		{paint, "\x1b[1;31mFAILED\x1b[0m  why", "│ \x1b[1;31mFAILED\x1b[0m  why\n"},
		{paint, "\x1b[2mdim\x1b[0m\x1b[2J\x1b]0;t\x07\r\nx", "│ \x1b[2mdim\x1b[0m x\n"},
		{paint, "\x1b[31##\x1b[0m[error]x ##[group]", "│ 31# #\x1b[0m[error]x # #[group]\n"},
		{paint, "\x1b[33m" + strings.Repeat("x", maxLine), "│ " + strings.Repeat("x", maxLine) + "\n"},
	} {
		var b bytes.Buffer
		test.show(NewLogWriter(&b, ""), test.text)
		_, got, _ := strings.Cut(b.String(), "\n")
		assert.Check(t, is.Equal(got, test.want), "%.80q", test.text)
	}
}

// TestAnnotationsArriveAsGiven checks that the runner reads the annotation that was passed to Annotate.
func TestAnnotationsArriveAsGiven(t *testing.T) {
	w := t.TempDir()
	for _, test := range []struct{ give, want report.Annotation }{
		{report.Annotation{Level: "error", File: "wf/START.md", Line: 7, Title: "a, b: 100% = c", Text: "x::y\nz%0A, %25"}, report.Annotation{}},
		{report.Annotation{Level: "notice", File: "a:b,c=d%.md", Text: "t"}, report.Annotation{}},
		{report.Annotation{Level: "set-output", Text: "t"}, report.Annotation{Level: "notice", Text: "t"}},
		{report.Annotation{Level: "error", File: filepath.Join(w, "a", "..", "b.md"), Text: "t"}, report.Annotation{Level: "error", File: "b.md", Text: "t"}},
		{report.Annotation{Level: "error", File: "../b.md", Line: 3, Text: "t"}, report.Annotation{Level: "error", Text: "t"}},
		{report.Annotation{Level: "error", Title: " two\r\nlines\x00 ", Text: "a\r\nb\x1b[0m"}, report.Annotation{Level: "error", Title: "two lines", Text: "a\nb"}},
		{report.Annotation{Level: "error", File: "=a.md", Title: "== b", Text: "t"}, report.Annotation{Level: "error", File: "./=a.md", Title: " == b", Text: "t"}},
	} {
		if test.want == (report.Annotation{}) {
			test.want = test.give
		}
		assert.Check(t, is.Equal(annotated(t, w, test.give), test.want), "%+v", test.give)
	}
}

// annotated writes an annotation to a log, and returns it as the runner reads it.
func annotated(t *testing.T, workspace string, a report.Annotation) report.Annotation {
	t.Helper()
	var b bytes.Buffer
	c := NewLogWriter(&b, workspace)
	c.Print("before")
	c.Annotate(a)
	h := sitetest.Runner{}
	h.Read(b.String())
	assert.Assert(t, is.Len(h.Ran, 1), "%+v: got commands %q, output:\n%s", a, commandNames(h.Ran), b.String())
	r := h.Ran[0]
	got := report.Annotation{Level: r.Name, File: r.Properties["file"], Title: r.Properties["title"], Text: r.Data}
	got.Line, _ = strconv.Atoi(r.Properties["line"])
	return got
}

func TestMasksAreSeparateCommands(t *testing.T) {
	var b bytes.Buffer
	c := NewLogWriter(&b, "")
	c.Print("text")
	for _, secret := range []string{"100%: a::b", "", " ", "first line 1\nshort\r\nsecond line"} {
		c.AddMask(secret)
	}
	h := sitetest.Runner{}
	h.Read(b.String())
	var got []string
	for _, r := range h.Ran {
		got = append(got, r.Name+" "+r.Data)
	}
	want := []string{"add-mask 100%: a::b", "add-mask first line 1\nshort\r\nsecond line", "add-mask first line 1", "add-mask second line"}
	assert.Check(t, is.DeepEqual(got, want), "masks")
}
