package job

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// check returns the problems with the value of an input. It leaves InputProblem.Input empty.
type check func(v string) []InputProblem

// The maximum lengths of a value in a message, and of a key, in bytes.
const (
	maxShown = 80
	maxKey   = 200
)

// maxID is the maximum length of a workflow id, in bytes.
const maxID = 64

var (
	// The patterns contain no counted repetitions, because these take long to compile.
	isWorkflowID   = matches(`^[a-z0-9][a-z0-9-]*$`)
	isExecution    = matches(`^[^\s@#\pC]+(#[1-9][0-9]*)?$`)
	isExactVersion = matches(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)
	isVariable     = matches(`^[A-Za-z_][A-Za-z0-9_]*$`)
	isAgent        = matches(`^main(_[a-z0-9_]{0,6}[0-9]+)*$`)
	isActor        = matches(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)
	isBotName      = matches(`^(\*|[A-Za-z0-9_][A-Za-z0-9._-]*(\[[Bb][Oo][Tt]\])?)$`)
	isFieldPath    = matches(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	isEvent        = matches(`^[a-z][a-z_]*$`)
	isWorkflowName = matches(`^[^/\\]+\.ya?ml$`)
)

// matches returns a function that reports whether a value matches a pattern. The pattern is compiled at
// the first call, which saves time when the program starts.
func matches(pattern string) func(string) bool {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	return func(v string) bool { return compiled().MatchString(v) }
}

// shorten shortens a value that a message quotes.
func shorten(s string) string { return text.Truncate(s, maxShown) }

// problemWith returns a list with one problem, which quotes the value.
func problemWith(v, what, hint string) []InputProblem {
	return []InputProblem{{Value: shorten(v), What: what, Hint: hint}}
}

// nearest returns a hint with the word that the user probably meant. It returns "" if no word is similar.
func nearest(v string, words []string) string {
	if near := protocol.Nearest(v, words); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// oneOf returns a check that accepts only the given words.
func oneOf(words ...string) check {
	return func(v string) []InputProblem {
		if slices.Contains(words, v) {
			return nil
		}
		return problemWith(v, "use one of "+strings.Join(words, ", "), nearest(v, words))
	}
}

// checkValue returns a check that accepts values for which isRight returns true.
func checkValue(isRight func(string) bool, what, hint string) check {
	return func(v string) []InputProblem {
		if isRight(v) {
			return nil
		}
		return problemWith(v, what, hint)
	}
}

// isPayloadPath reports whether v is a path like issue.body that does not begin with "github.".
func isPayloadPath(v string) bool { return isFieldPath(v) && !strings.HasPrefix(v, "github.") }

// checkEach returns a check that accepts lists in which isRight returns true for each entry.
func checkEach(isRight func(string) bool, what, hint string) check {
	return func(v string) (all []InputProblem) {
		for _, entry := range entries(v) {
			if !isRight(entry) {
				all = append(all, problemWith(v, fmt.Sprintf("%q is not %s", shorten(entry), what), hint)...)
			}
		}
		return all
	}
}

// entries splits a value at white space and commas.
func entries(v string) []string {
	return strings.FieldsFunc(v, func(c rune) bool { return c == ',' || unicode.IsSpace(c) })
}

var (
	isBool   = checkValue(func(v string) bool { _, ok := parseBool(v); return ok }, "use true or false", "")
	isLine   = checkValue(func(v string) bool { return !strings.ContainsFunc(v, unicode.IsControl) && utf8.ValidString(v) }, "use one line of text", "")
	isPrefix = checkValue(func(v string) bool {
		isOdd := func(c rune) bool { return !text.IsPrintable(c) || unicode.IsSpace(c) }
		return len(v) <= 50 && !strings.ContainsFunc(v, isOdd) && v[0] != '>' && v[0] != '<'
	}, "use one word of at most 50 bytes that doesn't begin with > or <", "")
	isToken = checkValue(func(v string) bool { return !strings.ContainsFunc(v, func(c rune) bool { return c <= ' ' || c > '~' }) },
		"contains spaces, line breaks or other characters that are not part of a key", "")
	isMatrix = checkValue(func(v string) bool { _, ok := matrixDigest(v); return ok }, "use the values of the matrix as JSON", "remove it: the default is right")
	isJob    = checkValue(protocol.IsJobName, "use up to 64 letters, digits, _ and -, beginning with a letter or _", "")
	areFiles = checkEach(func(f string) bool {
		base := path.Base(f)
		return (f == base || f == workflowFolder+base) && isWorkflowName(base)
	}, "a workflow file", "use names such as nightly.yml")
)

// parseBool parses the spellings of true and false that YAML's core schema allows.
func parseBool(v string) (value, ok bool) {
	isTrue := slices.Contains([]string{"true", "True", "TRUE"}, v)
	return isTrue, isTrue || slices.Contains([]string{"false", "False", "FALSE"}, v)
}

// isKey checks the input key: one line of at most maxKey bytes.
func isKey(v string) []InputProblem {
	if len(v) > maxKey {
		return problemWith(v, fmt.Sprintf("has %d bytes, more than %d", len(v), maxKey), "")
	}
	return isLine(v)
}

// isNumber returns a check that accepts whole numbers from least to most.
func isNumber(least, most int) check {
	return checkValue(func(v string) bool {
		n, err := strconv.Atoi(v)
		return err == nil && strconv.Itoa(n) == v && n >= least && n <= most
	}, fmt.Sprintf("use a whole number from %d to %d", least, most), "")
}

// isAmount checks an amount of US dollars.
func isAmount(v string) []InputProblem {
	if _, err := state.ParseUSD(v); err != nil {
		return problemWith(v, err.Error(), "")
	}
	return nil
}

// isResume checks the input resume. It contains the run to resume, and may contain "@" and the state
// execution from which a new run begins.
func isResume(v string) []InputProblem {
	id, rerun, isRerun := strings.Cut(v, "@")
	isWord := slices.Contains([]string{ResumeAuto, ResumeNever, ResumeRequire}, id)
	switch {
	case len(id) > maxID || !isWorkflowID(id):
		return problemWith(v, "use auto, never, require or a workflow id", "ids have 1 to 64 lowercase letters, digits or hyphens")
	case isRerun && (isWord || len(rerun) > maxKey || !isExecution(rerun)):
		return problemWith(v, "use a workflow id, then @ and the number of a state execution or a state",
			"ID@57, ID@REVIEW for the last execution of REVIEW, ID@REVIEW#2 for its second")
	}
	return nil
}

// areVariables checks a list of names of environment variables to pass on. A user may have written
// NAME=secret by mistake, so the problems don't quote entries that are not names.
func areVariables(v string) (all []InputProblem) {
	isOdd := false
	for _, n := range entries(v) {
		switch {
		case !isVariable(n):
			isOdd = true
		case secrets.IsWithheld(n):
			all = append(all, InputProblem{Value: n, What: "is never passed on to agents or scripts", Hint: "remove it"})
		}
	}
	if isOdd {
		all = append(all, InputProblem{What: "contains something that is not the name of a variable", Hint: "list names, without values"})
	}
	return all
}
