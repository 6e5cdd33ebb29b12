package protocol

import (
	"fmt"
	"regexp"
)

// checkTrust checks what bars a tag in the text of a state that names some states, and the
// variables of a fork.
func (l *linter) checkTrust(d *reading, t written, states map[string]string, severity Severity) {
	if d.s.Kind == Script && !l.isUnreached(d.s.Name) {
		severity = SeverityError
	}
	var problems []Problem
	if d.permits(t.Tag) {
		problems = l.w.barred(d.s, t.Tag, states, func(r Rule) Tag { return d.closed(t.Tag, r) })
	}
	if why := shadowing(variables(t.Tag), l.o.Meta); t.Verb == Fork && why != "" {
		problems = append(problems, Problem{Pos: t.Pos, Code: "bad-tag", Message: "<fork>: " + why})
	}
	for _, p := range problems {
		p.File = d.s.Name
		l.add(severity, p)
	}
}

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
func (l *linter) checkNeeds(d *reading) {
	if d.s.Kind != Script || d.s.Trusted {
		return
	}
	told := map[string]bool{}
	for i, line := range d.lines {
		if isComment(d.s.Name, line) {
			continue
		}
		line = comment().ReplaceAllString(line, "")
		for _, n := range needs {
			m := n.named().FindStringSubmatchIndex(line)
			if m == nil || told[n.row] {
				continue
			}
			told[n.row] = true
			l.warn(d.s, Pos{d.s.Line + i, 1 + len([]rune(line[:m[2]]))}, Problem{Code: "confined",
				Message: fmt.Sprintf("a script that is not trusted is confined and gets no secrets: this one needs %s", n.row),
				Hint:    fmt.Sprintf("do what the row %q says in docs/security.md#my-script-needs", n.row)})
		}
	}
}
