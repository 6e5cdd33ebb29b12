package protocol

import (
	"fmt"
	"slices"
	"strings"
)

// codeLines says where the text of a prompt is code: fenced lines by number in
// the file, and spans of columns in the others. Both count from 1.
type codeLines map[int][]codeSpan

// codeSpan is the columns of a code span, the end not among them.
type codeSpan struct{ from, to int }

// has reports whether a place lies in code.
func (c codeLines) has(pos Pos) bool {
	return slices.ContainsFunc(c[pos.Line], func(s codeSpan) bool { return s.from <= pos.Col && pos.Col < s.to })
}

// code returns where the text of a prompt is code.
func (d *reading) code() codeLines {
	if d.s.Kind != Prompt {
		return nil
	}
	code := codeLines{}
	fence := codeFence("")
	for i, line := range d.lines {
		was := fence
		fence = fence.after(line)
		number := d.s.Line + i
		if was != "" || fence != "" {
			code[number] = []codeSpan{{1, 1 << 30}}
		} else if strings.Contains(line, "`") {
			code[number] = codeSpans([]rune(line))
		}
	}
	return code
}

// codeSpans returns the code spans of a line: the text between two runs of
// equally many backticks.
func codeSpans(line []rune) []codeSpan {
	type run struct{ at, length int }
	var runs []run
	for at := 0; at < len(line); at++ {
		if line[at] != '`' {
			continue
		}
		begin := at
		for at < len(line) && line[at] == '`' {
			at++
		}
		runs = append(runs, run{begin, at - begin})
	}
	var spans []codeSpan
	for i := 0; i < len(runs); i++ {
		end := slices.IndexFunc(runs[i+1:], func(r run) bool { return r.length == runs[i].length })
		if end >= 0 {
			spans = append(spans, codeSpan{runs[i].at + 1, runs[i+1+end].at + 1})
			i += 1 + end
		}
	}
	return spans
}

// anyCase is a tag of ours, however it is written.
var anyCase = pattern(`(?i)</?(goto|reset|call|function|fork|result|join|ask)(\s[^<>]*)?>`)

// checkTagCase warns of openings that would be tags in lower case.
func (l *linter) checkTagCase(d *reading) {
	for i, line := range d.lines {
		if d.s.Kind == Script && isComment(d.s.Name, line) {
			continue
		}
		for _, m := range anyCase().FindAllStringSubmatchIndex(line, -1) {
			name := line[m[2]:m[3]]
			lower := strings.ToLower(name)
			if name == lower || line[m[0]+1] == '/' || Verb(lower).mustBeNamed() && !(d.s.Policy.Transitions.Restricted && d.s.Policy.Transitions.names(Verb(lower))) {
				continue
			}
			l.warn(d.s, Pos{d.s.Line + i, 1 + len([]rune(line[:m[0]]))}, Problem{Code: "tag-case",
				Message: fmt.Sprintf("<%s> is not a tag: tags are written in lower case", name),
				Hint:    fmt.Sprintf("write <%s>", lower)})
			return // one of them shows what is wrong with the others
		}
	}
}

// checkForks checks that a state which shows several forks may write them at once.
func (l *linter) checkForks(d *reading) {
	if d.s.Policy.Transitions.allowsManyForks() {
		return
	}
	var forks []written
	for _, t := range d.tags {
		if t.Verb == Fork && !isExample(t) {
			forks = append(forks, t)
		}
	}
	problem := Problem{File: d.s.Name, Code: "several-forks", Hint: "where several are meant at once, write " + manyForks(d.s.Kind)}
	severity := SeverityWarning
	switch {
	case len(forks) > 1:
		problem.Pos = forks[1].Pos
		problem.Message = fmt.Sprintf("there are %d forks, and a message may have only one", len(forks))
		if d.isStraight() && !l.isUnreached(d.s.Name) {
			severity = SeverityError
		}
	case len(forks) == 1 && d.loopsAround(forks[0]):
		problem.Pos = forks[0].Pos
		problem.Message = "there is a fork in a loop, and a message may have only one"
	default:
		return
	}
	l.add(severity, problem)
}

// These patterns find branches and loops in shell scripts.
var (
	branches = pattern(`\b(if|case|for|while|until|select|function|exit|exec|return|break)\b|&&|\|\||\(\)|\{`)
	loops    = pattern(`(?m)(^|[;&|]\s*|^\s+)(for|while|until)\s`)
	loopEnds = pattern(`(?m)(^|[;&|]\s*|^\s+)done\b`)
)

// isStraight reports whether a shell script always does everything in it: it has no
// branches.
func (d *reading) isStraight() bool {
	_, ext := splitName(d.s.Name)
	return ext == ".sh" && !branches().MatchString(d.shellText(len(d.lines)))
}

// loopsAround reports whether a tag of a shell script is inside a loop.
func (d *reading) loopsAround(t written) bool {
	_, ext := splitName(d.s.Name)
	at := t.Pos.Line - d.s.Line
	return ext == ".sh" && len(loops().FindAllString(d.shellText(at+1), -1)) > len(loopEnds().FindAllString(d.shellText(at), -1))
}

// shellText returns the first lines of a script without those that are comments.
func (d *reading) shellText(lines int) string {
	kept := slices.DeleteFunc(slices.Clone(d.lines[:lines]), func(line string) bool { return isComment(d.s.Name, line) })
	return strings.Join(kept, "\n")
}
