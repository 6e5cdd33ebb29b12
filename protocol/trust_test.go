package protocol

import (
	"fmt"
	"strings"
	"testing"
)

// TestTrustedScriptsMustBeNamed checks that a trusted script can be reached only from a state whose
// policy or options name it. It also checks that an untrusted script needs an option to choose who
// is asked and where agents work.
func TestTrustedScriptsMustBeNamed(t *testing.T) {
	entry := func(text string) string { return "---\nallowed_transitions: [" + text + "]\n---\nx" }
	short := func(text string) string { return "---\n" + text + "\n---\nx" }
	tests := []struct{ file, text, message, want string }{
		{"S.md", "x", "<goto>PUSH</goto>", `target of <goto>: "PUSH.sh" is trusted, but the policy of this state doesn't name it; allow it with an entry of allowed_transitions such as {tag: goto, target: PUSH.sh}`},
		{"S.md", "x", `<fork next="PUSH">A</fork>`, "{tag: fork, next: PUSH.sh}"},
		{"S.md", "x", "<join>PUSH</join>", "{tag: join, target: PUSH.sh}"},
		{"S.md", entry("{tag: goto}"), "<goto>PUSH.sh</goto>", "{tag: goto, target: PUSH.sh}"},
		{"S.md", entry("{target: PUSH}"), "<goto>PUSH.sh</goto>", ""},
		{"S.md", entry("{tag: goto, target: PUSH}, {tag: reset}"), "<reset>PUSH.sh</reset>", "{tag: reset, target: PUSH.sh}"},
		{"S.md", entry("{tag: goto, target: PUSH}"), "I am done.", ""},
		{"S.md", entry("{tag: call, target: A}"), `<call return="PUSH">A</call>`, "{tag: call, return: PUSH.sh}"},
		{"S.md", entry("{tag: call, return: PUSH}"), `<call return="PUSH">A</call>`, ""},
		{"S.md", entry("{tag: call, return: PUSH}"), `<call return="PUSH">PUSH</call>`, "{tag: call, target: PUSH.sh}"},
		{"S.md", entry("{tag: ask, next: PUSH, from: ann}"), `<ask next="PUSH" from="ann">?</ask>`, ""},
		{"S.md", entry("{tag: ask, next: A}"), `<ask next="A" timeout="1h" timeout_next="PUSH">?</ask>`, "{tag: ask, timeout_next: PUSH.sh}"},
		{"S.md", entry("{tag: ask, next: A, timeout_next: PUSH}"), `<ask next="A" timeout="1h" timeout_next="PUSH">?</ask>`, ""},
		{"S.md", short("allowed_tags: [goto]"), "<goto>PUSH</goto>", "{tag: goto, target: PUSH.sh}"},
		{"S.md", short("allowed_targets: [A, PUSH]"), `<call return="PUSH">A</call>`, ""},

		{"S.sh", "", "<goto>PUSH</goto>", `"PUSH.sh" is trusted, but this script doesn't name it; write # raymond: targets=PUSH.sh`},
		{"S.sh", "# raymond: trusted=true", "<goto>PUSH</goto>", "write # raymond: targets=PUSH.sh"},
		{"S.sh", "# raymond: targets=PUSH", "<goto>PUSH.sh</goto>", ""},
		{"S.sh", "# raymond: targets=PUSH", "<result>x</result>", ""},
		{"S.sh", "# raymond: targets=A.md", `<ask next="A" timeout="1h" timeout_next="PUSH">?</ask>`, `timeout_next of <ask>: "PUSH.sh" is not among the targets of this script; write # raymond: targets=A.md,PUSH.sh`},
		{"S.sh", "# raymond: targets=PUSH trusted=true", "<goto>A</goto>", "write # raymond: targets=PUSH,A.md"},

		{"S.sh", "", `<ask next="A" where="12">?</ask>`, "allow it with # raymond: ask=where"},
		{"S.sh", "# raymond: ask=from", `<ask next="A" where="12" from="ann">?</ask>`, "allow it with # raymond: ask=where,from"},
		{"S.sh", "# raymond: ask=untrusted,from", `<ask next="A" from="author" untrusted="true">?</ask>`, ""},
		{"S.sh", "# raymond: trusted=true", `<ask next="A" where="12">?</ask>`, ""},
		{"S.sh", "", `<reset cd="x">A</reset>`, "<reset>: a script that isn't trusted may not change the directory; allow it with # raymond: cd=true, in a <reset> or a <fork>"},
		{"S.sh", "# raymond: cd=true", `<fork next="A" cd="x">A</fork>`, ""},
		{"S.sh", "# raymond: trusted=true", `<reset cd="x">A</reset>`, ""},
		{"S.md", "x", `<reset cd="x">A</reset>`, ""},

		{"S.sh", "", `<fork next="A" issue-id="12">A</fork>`, `<fork>: the attribute "issue-id" is a name of the run's metadata, which a fork can't change`},
		{"S.sh", "", `<fork next="A" issue="12">A</fork>`, ""},
	}
	for _, tt := range tests {
		t.Run("", func(t *testing.T) {
			files := map[string]string{"START.md": "x", "A.md": "x", "PUSH.sh": "# raymond: trusted=true", tt.file: tt.text}
			w, problems := Load(mapFS(files), LoadOptions{Platform: Unix})
			_, more := w.Decide(tt.file, tt.message, "", map[string]string{"issue_id": "7"})
			got := fmt.Sprint(append(problems, more...))
			if (got == "[]") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("%s %q: %s\ngot  %v\nwant %s", tt.file, tt.text, tt.message, got, tt.want)
			}
		})
	}
}
