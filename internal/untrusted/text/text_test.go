package text

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

var hostile = []string{
	"", " ", "plain text", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\", "\x1b", "\x1b\x1b[31m[31m", "\x1bc",
	"\u009b2J", "\x9b2J", "\u009d0;title\u009c", "a\rb", "\r\n::error::x", "##[error]x", "a##[group]", "###[error]x", "#\u200b#[error]x",
	"#\x1b[0m#[error]x", "##\n[error]", "\u202egpj.exe", "\u2028x\u2029", "\u0085", "\U000e0041", "\xff\xfe", "\ufeff", "e\u0301", "中文",
	"👩‍👩‍👧", "a\ufe0fb\u3164c", "\ue000\U0010fffd\uffff", "\u0601", "<!-- x -->", "<!<!-- x -->-- y -->z", "a\u200b<!--\r\n-->",
	"```\n````text\n\u202e", "`", "a\tb\vc\fd", "a\n````\nb", "`````text\n``````", "a\n\n", "``` ` ````",
}

// becomes checks the results of a function for several texts.
func becomes(t *testing.T, of func(string) string, texts map[string]string) {
	t.Helper()
	for s, want := range texts {
		assert.Check(t, is.Equal(of(s), want), "%q", s)
	}
}

func TestPrintable(t *testing.T) {
	becomes(t, Printable, map[string]string{
		"a\r\nb\rc\u2028d\ve":                    "a\nb\nc\nd\ne",
		"  keep\tinside  \n":                     "  keep\tinside  \n",
		"\x1b[1;31mred\x1b[0m\x07 and\ttab":      "red and\ttab",
		"\x1b]0;title\x07 \x1b]8;;u\x1b\\link":   " link",
		"\x1bPq...\x1b\\ \u009b2J \u009dx\u009c": "  ",
		// The sequence is not finished on its line, so the lines after it must stay.
		"\x1b]0;no end\nsecond\nthird\x07":   "0;no end\nsecond\nthird",
		"bad \xff byte":                      "bad \uFFFD byte",
		"a\u202eb\u200bc\u00add":             "abcd",
		"tag\U000E0041\U000E007Fs":           "tags",
		"select\ufe0f\U000E0101ors \u3164.":  "selectors .",
		"private \ue000\U0010fffd, \u0378 .": "private ,  .",
		"a\u00a0b\u3000c":                    "a\u00a0b\u3000c",
	})
}

func TestWithoutHiddenKeepsVisibleText(t *testing.T) {
	becomes(t, WithoutHidden, map[string]string{
		"plain text":                       "plain text",
		"a <!-- hidden\n --> b":            "a  b",
		"a <!-- hidden for ever":           "a",
		"<!<!-- x -->-- y -->z":            "z",
		"<!--<!-- x --> y -->":             "y -->",
		"<!-->hidden-->a":                  "a",
		"<!-\u200b- hidden -->a":           "a",
		"a\u200bb\u200c\u200d\u2060\ufeff": "ab",
		"\u202eevil\u202c \u2066x\u2069":   "evil x",
		"tag\U000E0041\U000E007Fs":         "tags",
		"select\ufe0f\U000E0101ors":        "selectors",
		"soft\u00adhyphen \u3164filler":    "softhyphen filler",
		"a\r\nb\rc\u2028d":                 "a\nb\nc\nd",
		"bell\x07 esc\x1b[31m nul\x00":     "bell esc[31m nul",
		"\x1b]0;seen on the page\x07":      "]0;seen on the page",
		"bad \xff":                         "bad \uFFFD",
		"\n\n keep\tinside \n":             "keep\tinside",
		"\u0601 is to be seen, é too":      "\u0601 is to be seen, é too",

		"a <?hidden?>b <!X hidden>c <template>hidden\n</template>d":                                   "a  b  c  d",
		"seen\n<?hidden\n\n```\nfor ever":                                                             "seen",
		"<?\n```\n?>\n```\nfoo\n```\n<?hidden?>z":                                                     "```\nfoo\n```\n z",
		"[//]: # (hidden)\nseen\n\n[hidden\n2]: <x> 'hidden'\n> [a]: b \"hidden\nmore\"":              "seen",
		"see [1]\n\n[1]: https://x/y\n- [x]: no link":                                                 "see [1]\n\n[1]: https://x/y\n- [x]: no link",
		"code:\n```php\n<?php echo 1;\n```\n<template>":                                               "code:\n```php\n<?php echo 1;\n```",
		"<div>\n```\n<?hidden?>\n```\n</div>":                                                         "<div>\n```\n \n```\n</div>",
		"<pre>\n\n```\n<?hidden?>\n```":                                                               "<pre>\n\n```\n \n```",
		"``` `\n<?hidden?>\n```":                                                                      "``` `\n \n```",
		"```\nfoo\n   ```\n<?hidden?>z":                                                               "```\nfoo\n   ```\n z",
		"```\n<!--\n```\n-->\n<?hidden?>z":                                                            "```\n\n z",
		"a <!--\n```\n-->\n```\n<?hidden?>\n```":                                                      "a \n```\n \n```",
		" ~~~\n```\n~~~\n<?hidden?>z":                                                                 "~~~\n```\n~~~\n z",
		"<b>a</b> b\n```\n\n```\n<?hidden?>z":                                                         "<b>a</b> b\n```\n\n```\n z",
		"a <?\n\n<p>\n?>\n```\n<?hidden?>\n```":                                                       "a  \n```\n \n```",
		"<!-->\n```\n-->\n```\n<?hidden?>\n```":                                                       "```\n \n```",
		"<!-- hidden\n-->\n```\n<?php\n```":                                                           "```\n<?php\n```",
		"[a\\]]: x 'hidden'\n\n[a]: x \"hid\\\"den\"\n\n[a]: <hid\\>den>\n\n1. [a]: x (hid\\)den)\nz": "z",
		"> [a]:\n> /x\n> 'hidden\n> more'\n\nz":                                                       "z",
		"[a]: x \"is seen\" as this\n[Note]: this too":                                                "[a]: x \"is seen\" as this\n[Note]: this too",
		"if a <? b or List<!X":                                                                        "if a <? b or List<!X",
	})
}

// TestManyBeginningsCostLittle runs into its timeout if WithoutHidden takes quadratic time for a text of
// 100 KB.
func TestManyBeginningsCostLittle(*testing.T) {
	for _, part := range []string{"<?<!a>", "[a]: b\n\"\n", "<template>", "\n<![<?x?>", "```\n```\n", "```\n<?", "<!-", "a <template></templat"} {
		WithoutHidden(strings.Repeat(part, 100_000/len(part)))
	}
}

func TestEscaped(t *testing.T) {
	becomes(t, Escape, map[string]string{
		"plain text":               "plain text",
		"two\nlines\r\n\tand more": `two\nlines\r\n\tand more`,
		"\x1b[2J\x00\x7f\u009b":    `\x1b[2J\x00\x7f\u009b`,
		"a\u200b\u202e\u2028":      `a\u200b\u202e\u2028`,
		`C:\new`:                   `C:\new`,
		"é 中文 \xff":                "é 中文 \uFFFD",
	})
}

// FuzzText checks the guarantees of all functions that prepare text for display.
func FuzzText(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		checkShown(t, s, Printable(s), "\n\t", Printable)
		checkShown(t, s, Line(s), "\t", Line)
		checkShown(t, s, BreakCommandMark(Line(s)), "\t", func(s string) string { return BreakCommandMark(Line(s)) })
		got := BreakCommandMark(Line(s))
		assert.Check(t, !strings.Contains(got, "##["), "%q: got %q, want no command mark", s, got)
		escaped := Escape(s)
		assert.Check(t, !strings.ContainsFunc(escaped, func(r rune) bool { return !unicode.IsGraphic(r) }), "%q: got %q, want only graphic characters", s, escaped)
		assert.Check(t, utf8.ValidString(escaped), "%q: got %q, want valid UTF-8", s, escaped)
		hidden := WithoutHidden(s)
		for _, r := range hidden {
			if IsInvisible(r) || unicode.IsControl(r) && r != '\n' && r != '\t' || strings.ContainsRune("\u200b\u200e\u202e\u2066\ufeff\u00ad\r\u2028", r) {
				t.Errorf("%q: got %q, want it without %q", s, hidden, r)
			}
		}
		assert.Check(t, !strings.Contains(hidden, "<!--"), "%q: got %q, want no comment", s, hidden)
		assert.Check(t, utf8.ValidString(hidden), "%q: got %q, want valid UTF-8", s, hidden)
		assert.Check(t, is.Equal(WithoutHidden(hidden), hidden), "%q: want the same as at first", s)
		checkFence(t, s)
		checkCuts(t, s)
	})
}

// checkShown checks that got contains no invisible characters, and no control characters except the
// characters in kept. The function again returned got, and must be idempotent.
func checkShown(t *testing.T, s, got, kept string, again func(string) string) {
	t.Helper()
	for _, r := range got {
		if !strings.ContainsRune(kept, r) && (unicode.IsControl(r) || !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) || IsInvisible(r)) {
			t.Errorf("%q: got %q, want it without %q", s, got, r)
		}
	}
	if !utf8.ValidString(got) || again(got) != got {
		t.Errorf("%q: got %q, and %q of that, want the same and valid UTF-8", s, got, again(got))
	}
}

// checkFence checks that only the last line of Fence's result ends the code block.
func checkFence(t *testing.T, s string) {
	t.Helper()
	all := strings.Split(strings.TrimSuffix(Fence(s, "text"), "\n"), "\n")
	fence := strings.TrimSuffix(all[0], "text")
	for i, line := range all[1:] {
		bare := strings.TrimSpace(line)
		ends := len(bare) >= len(fence) && strings.Trim(bare, "`") == ""
		if last := i == len(all)-2; ends != last {
			t.Errorf("%q: got a fence that ends in line %d (%v), want in the last of %d; all:\n%s", s, i, ends, len(all)-2, Fence(s, "text"))
		}
	}
	assert.Check(t, is.Equal(strings.Join(all[1:len(all)-1], "\n"), strings.TrimRight(s, "\n")), "%q: in the fence: want the text", s)
	if run := regexp.MustCompile("`{" + "4,}").FindString(s); longestRun(s) < len(run) {
		t.Errorf("%q: got a longest run of %d, want %d at least", s, longestRun(s), len(run))
	}
}

func TestLastLinesStartAtALine(t *testing.T) {
	for _, c := range []struct {
		s, want string
		n       int
	}{
		{"one\ntwo\n", "one\ntwo\n", 9}, {"one\ntwo\n", "two\n", 6}, {"one\ntwo\n", "two\n", 4}, {"one\ntwo", "two", 3}, {"one\ntwo\n", "wo\n", 3}, {"long", "ng", 2},
	} {
		assert.Check(t, is.Equal(LastLines(c.s, c.n), c.want), "LastLines(%q, %d)", c.s, c.n)
	}
}

// checkCuts checks that shortened texts contain only whole characters and respect the limit. They may lose
// at most one character more than necessary.
func checkCuts(t *testing.T, s string) {
	t.Helper()
	s = strings.ToValidUTF8(s, "\uFFFD")
	for n := -1; n <= min(len(s)+1, 40); n++ {
		head, tail := Prefix(s, n), Suffix(s, n)
		want := min(len(s), max(0, n))
		for name, got := range map[string]string{"Before": head, "After": tail} {
			if !utf8.ValidString(got) || len(got) > want || len(got) <= want-utf8.UTFMax {
				t.Errorf("%s(%q, %d): got %q, want whole characters of %d bytes", name, s, n, got, want)
			}
		}
		if !strings.HasPrefix(s, head) || !strings.HasSuffix(s, tail) {
			t.Errorf("%q, %d: got %q and %q, want its beginning and its end", s, n, head, tail)
		}
		if got := Truncate(s, n); n >= len("…") && len(got) > n || len(s) <= n && got != s {
			t.Errorf("Truncate(%q, %d): got %q", s, n, got)
		}
	}
}

// TestInvisibleFollowsUnicode checks that no character that Unicode calls default-ignorable counts as
// visible.
func TestInvisibleFollowsUnicode(t *testing.T) {
	seen := []rune{0x0600, 0x06DD, 0x070F, 0x110BD} // visible format characters
	for r := range unicode.MaxRune {
		if unicode.Is(unicode.Cf, r) && !IsInvisible(r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) {
			t.Errorf("%U: a format character that counts as visible", r)
		}
		if IsPrintable(r) && (IsInvisible(r) || unicode.IsControl(r)) {
			t.Errorf("%U: printable, but invisible", r)
		}
	}
	if i := slices.IndexFunc(seen, IsInvisible); i >= 0 {
		t.Errorf("%U: got invisible", seen[i])
	}
}

func TestBrief(t *testing.T) {
	becomes(t, func(s string) string { return Brief(s, 10) }, map[string]string{
		"":                                 "",
		" a\tb\r\n\n c ":                   "a b c",
		"exactly te":                       "exactly te",
		"exactly ten":                      "exactly te…",
		"until the blank":                  "until the…",
		"éééééééééé":                       "éééééééééé",
		"ééééééééééé":                      "éééééééééé…",
		"\x1b[31mred\x1b[0m\u200b":         "red",
		strings.Repeat("\u200b", 50) + "a": "a",
	})
}
