package lint

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/protocol"
)

// checkForks checks that a state which shows several forks may write them at once.
func (l *linter) checkForks(d reading) {
	if d.State.Policy.Transitions.AllowsManyForks() {
		return
	}
	forks := slices.DeleteFunc(slices.Clone(d.Tags), func(t protocol.ParsedTag) bool { return t.Verb != protocol.Fork || isExample(t) })
	if len(forks) < 2 {
		return
	}
	severity, code := Warning, strings.Join(slices.DeleteFunc(slices.Clone(d.Lines), d.IsComment), "\n")
	if strings.EqualFold(path.Ext(d.State.Name), ".sh") && !branches().MatchString(code) && !l.isUnreached(d) {
		severity = Error // the script always does everything in it
	}
	l.add(severity, protocol.Problem{File: d.State.Name, Pos: forks[1].Pos, Code: "several-forks",
		Message: fmt.Sprintf("there are %d forks, and a message may have only one", len(forks)),
		Hint:    "where several are meant at once, write " + protocol.ManyForksHint(d.State.Kind)})
}

// branches finds branches and loops in shell scripts.
var branches = pattern(`\b(if|case|for|while|until|select|function|exit|exec|return|break)\b|&&|\|\||\(\)|\{`)

// need is something that a script which is not trusted can't reach, or has no rights to.
type need struct {
	row   string // of the table "My script needs …" of docs/security.md
	named func() *regexp.Regexp
}

// asCommand begins a pattern of a command of a shell.
const asCommand = `(?:^|[;&|({!` + "`" + `]|\b(?:if|then|else|elif|while|until|do|exec|env|time|xargs|command)\s)\s*(?:\w+=\S*\s+)*`

// needs are those that the text of a script shows.
var needs = []need{
	{"gh or a token", pattern(asCommand + `(gh)(?:\s|$)`)},
	{"gh or a token", pattern(`\b(GITHUB_TOKEN|GH_TOKEN)\b`)},
	{"git push", pattern(asCommand + `(git(?:\s+-\S+(?:\s+[^-\s]\S*)?)*\s+push)\b`)},
	{"docker or sudo", pattern(asCommand + `(docker|sudo)(?:\s|$)`)},
}

// comment ends a line of a script.
var comment = pattern(`(^|\s)#.*`)

// checkNeeds warns where a script that is not trusted uses what only others can.
func (l *linter) checkNeeds(d reading) {
	if d.State.Kind != protocol.Script || d.State.Trusted {
		return
	}
	told := map[string]bool{}
	for i, line := range d.Lines {
		if d.IsComment(line) {
			continue
		}
		line = comment().ReplaceAllString(line, "")
		for _, n := range needs {
			m := n.named().FindStringSubmatchIndex(line)
			if m == nil || told[n.row] {
				continue
			}
			told[n.row] = true
			l.warn(d, d.place(i, m[2]), protocol.Problem{Code: "confined",
				Message: fmt.Sprintf("a script that is not trusted is confined and gets no secrets: this one needs %s", n.row),
				Hint:    fmt.Sprintf("do what the row %q says in docs/security.md#my-script-needs", n.row)})
		}
	}
}

// expanded finds a text of the run that cmd.exe puts into a line of a batch file before it reads the line.
var expanded = pattern(`(?i)%(RAYMOND_(?:INPUT|RESULT|VAR_\w+))(?::[^%]*)?%`)

// checkBatch warns of a batch file that obeys what others have written.
func (l *linter) checkBatch(d reading) {
	if !strings.EqualFold(path.Ext(d.State.Name), ".bat") {
		return
	}
	for i, line := range d.Lines {
		if m := expanded().FindStringSubmatchIndex(line); m != nil && !d.IsComment(line) {
			l.warn(d, d.place(i, m[0]), protocol.Problem{Code: "expanded",
				Message: fmt.Sprintf("cmd.exe puts the value of %s into the line and obeys what is in it, such as & and a command", line[m[2]:m[3]]),
				Hint:    "have a program read the file %RAYMOND_RESULT_FILE%, or make this a .ps1: see docs/language.md#on-windows"})
		}
	}
}
