package lint

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/protocol"
)

// checkForks checks that a state whose text shows several forks may write them in one message.
func (l *linter) checkForks(d checkedState) {
	if d.State.Policy.Transitions.AllowsManyForks() {
		return
	}
	forks := slices.DeleteFunc(slices.Clone(d.Tags), func(t protocol.ParsedTag) bool { return t.Verb != protocol.Fork || isExample(t) })
	if len(forks) < 2 {
		return
	}
	severity, code := Warning, strings.Join(slices.DeleteFunc(slices.Clone(d.Lines), d.IsComment), "\n")
	if strings.EqualFold(path.Ext(d.State.Name), ".sh") && !branches().MatchString(code) && !l.isUnreached(d) {
		severity = Error // without branches, the script always prints all forks
	}
	l.add(severity, protocol.Problem{File: d.State.Name, Pos: forks[1].Pos, Code: "several-forks",
		Message: fmt.Sprintf("there are %d forks, and a message may have only one", len(forks)),
		Hint:    "to allow several at once, write " + protocol.ManyForksHint(d.State.Kind)})
}

// branches matches branches and loops in shell scripts.
var branches = pattern(`\b(if|case|for|while|until|select|function|exit|exec|return|break)\b|&&|\|\||\(\)|\{`)

// need describes something that an untrusted script can't reach or has no rights to.
type need struct {
	row   string // row of the table "My script needs …" in docs/security.md
	named func() *regexp.Regexp
}

// asCommand is the beginning of a pattern that matches a command in a shell script.
const asCommand = `(?:^|[;&|({!` + "`" + `]|\b(?:if|then|else|elif|while|until|do|exec|env|time|xargs|command)\s)\s*(?:\w+=\S*\s+)*`

// needs lists what an untrusted script can't use, with patterns that recognize it in a script's text.
var needs = []need{
	{"gh or a token", pattern(asCommand + `(gh)(?:\s|$)`)},
	{"gh or a token", pattern(`\b(GITHUB_TOKEN|GH_TOKEN)\b`)},
	{"git push", pattern(asCommand + `(git(?:\s+-\S+(?:\s+[^-\s]\S*)?)*\s+push)\b`)},
	{"docker or sudo", pattern(asCommand + `(docker|sudo)(?:\s|$)`)},
}

// comment matches a comment at the end of a line in a script.
var comment = pattern(`(^|\s)#.*`)

// checkNeeds warns if an untrusted script uses something that only trusted scripts can use.
func (l *linter) checkNeeds(d checkedState) {
	if d.State.Kind != protocol.Script || d.State.Trusted {
		return
	}
	reported := map[string]bool{}
	for i, line := range d.Lines {
		if d.IsComment(line) {
			continue
		}
		line = comment().ReplaceAllString(line, "")
		for _, n := range needs {
			m := n.named().FindStringSubmatchIndex(line)
			if m == nil || reported[n.row] {
				continue
			}
			reported[n.row] = true
			l.warn(d, d.posOf(i, m[2]), protocol.Problem{Code: "confined",
				Message: fmt.Sprintf("a script that is not trusted is confined and gets no secrets: this one needs %s", n.row),
				Hint:    fmt.Sprintf("see the row %q in docs/security.md#my-script-needs", n.row)})
		}
	}
}

// expanded matches a variable that contains text of the run. cmd.exe inserts the variable's value
// into a line of a batch file before it parses the line.
var expanded = pattern(`(?i)%(RAYMOND_(?:INPUT|RESULT|VAR_\w+))(?::[^%]*)?%`)

// checkBatch warns if cmd.exe would execute text that agents or users have written.
func (l *linter) checkBatch(d checkedState) {
	if !strings.EqualFold(path.Ext(d.State.Name), ".bat") {
		return
	}
	for i, line := range d.Lines {
		if m := expanded().FindStringSubmatchIndex(line); m != nil && !d.IsComment(line) {
			l.warn(d, d.posOf(i, m[0]), protocol.Problem{Code: "expanded",
				Message: fmt.Sprintf("cmd.exe inserts the value of %s into the line and executes commands in it, for example after &", line[m[2]:m[3]]),
				Hint:    "have a program read the file %RAYMOND_RESULT_FILE%, or make this a .ps1: see docs/language.md#on-windows"})
		}
	}
}
