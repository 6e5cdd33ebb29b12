package permit

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	asks         = "This command requires approval"
	severalParts = "This Bash command contains multiple operations. The following parts require approval: "
	onePart      = "This Bash command contains multiple operations. The following part requires approval: "
	unclear      = "A variable in this command can't be checked before it runs"
)

// TestAdvice holds what is advised; that it helps, the contract with the real CLI
// holds.
func TestAdvice(t *testing.T) {
	tests := []struct{ command, reason, allowed, want string }{
		{"npm test", asks, "", "Bash(npm test:*)"},
		{"npm test", "", "", "Bash(npm test:*)"},
		{"npm test", asks, "Bash(npm test:*)", ""},
		{"npm ci && npm test -- --x", severalParts + "npm ci, npm test -- --x", "", "Bash(npm ci:*)|Bash(npm test:*)"},
		{"npm ci && npm test", severalParts + "npm ci, npm test", "Bash(npm ci)", "Bash(npm test:*)"},
		{"a x, y && b", severalParts + "a x, y, b", "", "Bash(a x, y)|Bash(b)"},
		{"cd sub && npm test", onePart + "npm test", "", "Bash(npm test:*)"},
		{"cd /tmp && npm test", severalParts + "cd /tmp, npm test", "", ""},
		{"npm test 2>&1 | tail -5", onePart + "npm test 2>&1", "", "Bash(npm test:*)"},
		{"make -C sub 2>&1", asks, "", "Bash(make -C sub)"},
		{"make > out.txt", asks, "", "Bash(make)"},
		{"make | tee /tmp/x", severalParts + "make, tee /tmp/x", "", ""},
		{"make | tee x", severalParts + "make, tee x", "", "Bash(make)|Bash(tee x:*)"},
		{"make > /tmp/x", asks, "", ""},
		{"FOO=1 npm test -w x", asks, "", "Bash(FOO=1 npm test:*)"},
		{"timeout 10 npm test", asks, "", "Bash(timeout 10 npm test)"},
		{"bash -c 'npm test'", asks, "", "Bash(bash -c 'npm test')"},
		{"bash -c 'a\nb'", asks, "", "all Bash(bash -c:*)"},
		{"python3 <<'E'\nprint(1)\nE", asks, "", "all Bash(python3:*)"},
		{"git commit -m \"a\n\nb\"", asks, "", "Bash(git commit:*)"},
		{"cd sub && git commit -m x", "This command changes directory before running git, which can …", "", ""},
		{"cd sub && git commit -m x", onePart + "git commit -m x", "", ""},
		{"cd sub && make > x", "Commands that change directories and write via output redirection require explicit approval", "", ""},
		{"cd sub && make > x", "", "", ""},
		{"for i in 1 2; do make $i; done", unclear, "", "Bash(for i in 1 2; do make $i; done)"},
		{"for i in 1 2; do make x; done", onePart + "make x", "", "Bash(make x:*)"},
		{"for i in *; do make $i; done", unclear, "", ""},
		{"for i in 1 2; do make $i; done", unclear, "Bash(for i in 1 2; do make $i; done)", ""},
		{"case x in x) make;; esac", "A case statement in this command can't be checked before it runs", "", ""},
		{"make $X &", unclear, "", ""},
		{"make &", asks, "", ""},
		{"make &> out", asks, "", "Bash(make)"},
		{"make <<X\n$A\nX", "Heredoc with unquoted delimiter undergoes shell expansion", "", ""},
		{"find . -exec rm {} \\;", "find with '-exec' executes commands or modifies files", "", "Bash(find . -exec rm {} \\;)"},
		{"rm *", asks, "", "Bash(rm:*)"},
		{"make 'a;b' x", asks, "", "Bash(make 'a;b' x)"},
		{"make", "Permission to use Bash with command make has been denied.", "", ""},
		{"make", "a hook said no", "", ""},
		{"make x # then more", asks, "", "Bash(make x:*)"},
		{"make x; \n make y", severalParts + "make x, make y", "", "Bash(make x:*)|Bash(make y:*)"},
		{"make " + strings.Repeat("x", 5000), asks, "", ""},
		{"make '" + strings.Repeat("x", 400) + "'", asks, "", ""},
		{"'unfinished", asks, "", ""},
		{">", asks, "", ""},
	}
	for _, tt := range tests {
		u := Use{Tool: "Bash", Input: map[string]string{"command": tt.command}, Reason: tt.reason, Dir: "/home/me/work"}
		if tt.allowed != "" {
			u.Allowed = []string{tt.allowed}
		}
		if d := cmp.Diff(tt.want, advised(Advise(u))); d != "" {
			t.Errorf("%.80q, refused with %q, allowed %q (-want +got):\n%s", tt.command, tt.reason, tt.allowed, d)
		}
	}
}

func advised(a Advice) string {
	text := strings.Join(a.Rules, "|")
	if a.Everything {
		text = "all " + text
	}
	return text
}

// TestAdviceForOtherTools: the narrowest rule for what was asked for.
func TestAdviceForOtherTools(t *testing.T) {
	granted := "Claude requested permissions to write to /x, but you haven't granted it yet."
	tests := []struct{ tool, field, value, reason, want string }{
		{"Write", "file_path", "/etc/motd", granted, "Edit(//etc/motd)"},
		{"Edit", "file_path", "sub/x", "", "Edit(//home/me/work/sub/x)"},
		{"NotebookEdit", "notebook_path", "/n.ipynb", granted, "Edit(//n.ipynb)"},
		{"Read", "file_path", "/etc/motd", granted, "Read(//etc/motd)"},
		{"Write", "file_path", "/a*", granted, "all Edit"},
		{"Write", "file_path", ".git/config", "Claude requested permissions to edit /w/.git/config which is a sensitive file.", ""},
		{"Write", "file_path", ".claude/settings.json", granted, ""},
		{"Write", "file_path", "/x", "Cannot write to /x while in plan mode.", ""},
		{"WebFetch", "url", "https://example.com:1/x", granted, "WebFetch(domain:example.com)"},
		{"WebSearch", "query", "x", granted, "WebSearch"},
		{"mcp__a__b", "x", "y", granted, "mcp__a__b"},
		{"Bad Tool(", "x", "y", granted, ""},
	}
	for _, tt := range tests {
		u := Use{Tool: tt.tool, Input: map[string]string{tt.field: tt.value}, Reason: tt.reason, Dir: "/home/me/work"}
		if d := cmp.Diff(tt.want, advised(Advise(u))); d != "" {
			t.Errorf("%s(%s), refused with %q (-want +got):\n%s", tt.tool, tt.value, tt.reason, d)
		}
	}
}

// FuzzAdvise: whatever an agent wanted to run, advice is one line a rule, of
// bounded length, and never the whole shell.
func FuzzAdvise(f *testing.F) {
	for _, c := range []string{"a && b", "a <<'E'\nx\nE\n", "for i in 1; do a; done >x", "do", "a \\", "<<", "&>", "a 2>&1 3>&-"} {
		f.Add(c, asks)
		f.Add(c, severalParts+c)
		f.Add(c, unclear)
	}
	f.Fuzz(func(t *testing.T, command, reason string) {
		a := Advise(Use{Tool: "Bash", Input: map[string]string{"command": command}, Reason: reason, Dir: "/w"})
		for _, rule := range a.Rules {
			if len(rule) > longestRule || strings.ContainsAny(rule, "\n\r") || !strings.HasPrefix(rule, "Bash(") || rule == "Bash(:*)" || rule == "Bash(*)" {
				t.Errorf("%q: got %q", command, rule)
			}
		}
	})
}

// TestRulesOfOtherToolsAllowNoCommand, however it is written.
func TestRulesOfOtherToolsAllowNoCommand(t *testing.T) {
	for _, rule := range []string{"Read(npm test)", "npm test)", "Bash(npm test", "Read(npm:*)"} {
		for _, text := range []string{"npm test", strings.TrimSuffix(rule, ")")} {
			if matches(rule, text) {
				t.Errorf("rule %q: got %q allowed, want it refused", rule, text)
			}
		}
	}
}
