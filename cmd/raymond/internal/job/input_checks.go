package job

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// check finds what is wrong with the value of an input.
type check func(v string) []InputProblem

// The longest value that a message repeats, and the longest key, in bytes.
const (
	maxShown = 80
	maxKey   = 200
)

// maxID is the longest workflow id, in bytes.
const maxID = 64

var (
	// No counted repetitions: they take long to compile.
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

// matches has a pattern decide. It is compiled when it is needed, not at each start of the program.
func matches(pattern string) func(string) bool {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	return func(v string) bool { return compiled().MatchString(v) }
}

func shorten(s string) string { return text.Truncate(s, maxShown) }

// wrong is a problem with a value.
func wrong(v, what, hint string) []InputProblem {
	return []InputProblem{{Value: shorten(v), What: what, Hint: hint}}
}

// nearest is the hint at the word that somebody may have meant; "" for none.
func nearest(v string, words []string) string {
	if near := protocol.Nearest(v, words); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// oneOf is a check for a word of a few.
func oneOf(words ...string) check {
	return func(v string) []InputProblem {
		if slices.Contains(words, v) {
			return nil
		}
		return wrong(v, "want one of "+strings.Join(words, ", "), nearest(v, words))
	}
}

// that is a check of a value as a whole.
func that(isRight func(string) bool, what, hint string) check {
	return func(v string) []InputProblem {
		if isRight(v) {
			return nil
		}
		return wrong(v, what, hint)
	}
}

func isPayloadPath(v string) bool { return isFieldPath(v) && !strings.HasPrefix(v, "github.") }

// each is a check of the entries of a list.
func each(isRight func(string) bool, what, hint string) check {
	return func(v string) (all []InputProblem) {
		for _, entry := range entries(v) {
			if !isRight(entry) {
				all = append(all, wrong(v, fmt.Sprintf("%q is no %s", shorten(entry), what), hint)...)
			}
		}
		return all
	}
}

// entries splits a value at blanks, commas and line breaks.
func entries(v string) []string {
	return strings.FieldsFunc(v, func(c rune) bool { return c == ',' || unicode.IsSpace(c) })
}

var (
	isBool   = that(func(v string) bool { _, ok := truth(v); return ok }, "want true or false", "")
	isLine   = that(func(v string) bool { return !strings.ContainsFunc(v, unicode.IsControl) && utf8.ValidString(v) }, "want one line of text", "")
	isPrefix = that(func(v string) bool {
		isOdd := func(c rune) bool { return !text.IsPrintable(c) || unicode.IsSpace(c) }
		return len(v) <= 50 && !strings.ContainsFunc(v, isOdd) && v[0] != '>' && v[0] != '<'
	}, "want one word of at most 50 bytes that begins with neither > nor <", "")
	isToken = that(func(v string) bool { return !strings.ContainsFunc(v, func(c rune) bool { return c <= ' ' || c > '~' }) },
		"has blanks, line breaks or other characters in it that no key has", "")
	isMatrix = that(func(v string) bool { _, ok := matrixDigest(v); return ok }, "want the values of the matrix as JSON", "leave it out: its default is right")
	isJob    = that(protocol.IsJobName, "want up to 64 letters, digits, _ and -, beginning with a letter or _", "")
	isExact  = that(isExactVersion, "want an exact version such as 2.1.330", "")
	isPause  = that(func(v string) bool {
		d, err := time.ParseDuration(v)
		return err == nil && d >= time.Second && v[0] != '+'
	}, "want a duration of 1s at least, such as 90s or 5m", "")
	areFiles = each(func(f string) bool {
		base := path.Base(f)
		return (f == base || f == workflowFolder+base) && isWorkflowName(base)
	}, "workflow file", "want names such as nightly.yml")
)

// truth reads what YAML's core schema calls a truth value.
func truth(v string) (value, ok bool) {
	isTrue := slices.Contains([]string{"true", "True", "TRUE"}, v)
	return isTrue, isTrue || slices.Contains([]string{"false", "False", "FALSE"}, v)
}

func isKey(v string) []InputProblem {
	if len(v) > maxKey {
		return wrong(v, fmt.Sprintf("has %d bytes, want at most %d", len(v), maxKey), "")
	}
	return isLine(v)
}

// isNumber is a check for a whole number.
func isNumber(least, most int) check {
	return that(func(v string) bool {
		n, err := strconv.Atoi(v)
		return err == nil && strconv.Itoa(n) == v && n >= least && n <= most
	}, fmt.Sprintf("want a whole number from %d to %d", least, most), "")
}

func isAmount(v string) []InputProblem {
	if _, err := state.ParseUSD(v); err != nil {
		return wrong(v, err.Error(), "")
	}
	return nil
}

// isResume is for what is resumed, and from which state execution of it a new run begins.
func isResume(v string) []InputProblem {
	id, rerun, isRerun := strings.Cut(v, "@")
	isWord := slices.Contains([]string{ResumeAuto, ResumeNever, ResumeRequire}, id)
	switch {
	case len(id) > maxID || !isWorkflowID(id):
		return wrong(v, "want auto, never, require or a workflow id", "ids are 1 to 64 of a-z, 0-9 and -")
	case isRerun && (isWord || len(rerun) > maxKey || !isExecution(rerun)):
		return wrong(v, "want a workflow id before the @, and after it the number of a state execution or a state",
			"ID@57, ID@REVIEW for the last execution of REVIEW, ID@REVIEW#2 for its second")
	}
	return nil
}

// areVariables is for names of environment variables that may be passed on. Its problems show as little as possible:
// somebody may have written NAME=secret.
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
		all = append(all, InputProblem{What: "has something in it that is no name of a variable", Hint: "want names, not values"})
	}
	return all
}
