package job

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestUntrustedTextIsWhatItsReadersSee(t *testing.T) {
	for text, want := range map[string]string{
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
		"bad \xff":                         "bad \uFFFD",
		"\n\n keep\tinside \n":             "keep\tinside",
		"\u0601 is to be seen, é too":      "\u0601 is to be seen, é too",
	} {
		if got := Untrusted(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func FuzzUntrusted(f *testing.F) {
	f.Add("<!<!-- x -->-- y -->z")
	f.Add("a\u200b<!--\r\n-->")
	f.Add("```\n````text\n\u202e")
	f.Fuzz(func(t *testing.T, text string) {
		got := Untrusted(text)
		for _, r := range got {
			if Invisible(r) || isControl(r) || strings.ContainsRune("\u200b\u200e\u202e\u2066\ufeff\u00ad\r\u2028", r) {
				t.Fatalf("%q: got %q, want it without %q", text, got, r)
			}
		}
		if strings.Contains(got, "<!--") || !utf8.ValidString(got) {
			t.Fatalf("%q: got %q, want UTF-8 without comments", text, got)
		}
		if again := Untrusted(got); again != got {
			t.Fatalf("%q: got %q at first and %q then, want the same", text, got, again)
		}
		checkFence(t, got)
	})
}

// checkFence: a reader of Markdown finds the end of the fence after the text.
func checkFence(t *testing.T, text string) {
	t.Helper()
	all := strings.Split(strings.TrimSuffix(Fence(text), "\n"), "\n")
	open := all[2]
	fence := strings.TrimSuffix(open, "text")
	for i, line := range all[3:] {
		bare := strings.TrimSpace(line)
		ends := len(bare) >= len(fence) && strings.Trim(bare, "`") == ""
		if last := i == len(all)-4; ends != last {
			t.Fatalf("%q: got a fence that ends in line %d (%v), want in the last of %d; all:\n%s", text, i, ends, len(all)-4, Fence(text))
		}
	}
	inside := strings.Join(all[3:len(all)-1], "\n")
	if inside != strings.TrimSuffix(text, "\n") {
		t.Fatalf("%q: got %q in the fence, want the text", text, inside)
	}
}

func TestFencesCanNotBeEnded(t *testing.T) {
	for _, text := range []string{"", "a", "```\n", "a\n````\nb", "`````text\n``````", "a\n\n"} {
		checkFence(t, text)
	}
}

// TestInputIsFencedWhereItMayBeOfPeople also holds for events that nobody knows.
func TestInputIsFencedWhereItMayBeOfPeople(t *testing.T) {
	const text = "do this <!-- and that -->"
	for event, plain := range map[string]bool{
		"workflow_dispatch": true, "schedule": true, "push": true, "repository_dispatch": true, "merge_group": true,
		"issues": false, "issue_comment": false, "pull_request": false, "pull_request_target": false, "workflow_run": false, "unheard_of": false,
	} {
		want := Fence("do this")
		if plain {
			want = text
		}
		if got := Input(Event{Name: event}, text); got != want {
			t.Errorf("%s: got %q, want %q", event, got, want)
		}
		if got := Input(Event{Name: event}, ""); got != "" {
			t.Errorf("%s, no input: got %q, want none", event, got)
		}
	}
}
