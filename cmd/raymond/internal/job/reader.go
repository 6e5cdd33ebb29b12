package job

import (
	"errors"
	"fmt"
	"maps"
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

// reader reads inputs and collects what is wrong with them.
type reader struct {
	getenv   func(string) string
	problems []InputProblem
}

// The longest value that a message repeats, and the longest key, in bytes.
const (
	maxShown = 80
	maxKey   = 200
)

// maxID is the longest workflow id, in bytes.
const maxID = 64

var (
	// No counted repetitions: they take long to compile, and this is done at each
	// start of the program.
	workflowIDs  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`) })
	executions   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^\s@#\pC]+(#[1-9][0-9]*)?$`) })
	exactVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`) })
	variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })
	agentName    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^main(_[a-z0-9_]{0,6}[0-9]+)*$`) })
	actorName    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`) })
	botName      = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(\*|[A-Za-z0-9_][A-Za-z0-9._-]*(\[[Bb][Oo][Tt]\])?)$`)
	})
	eventName     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z_]*$`) })
	workflowNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^/\\]+\.ya?ml$`) })
)

// spec returns the declaration of an input; a name without one is a mistake of
// ours that any test notices.
func spec(name string) InputSpec {
	i := slices.IndexFunc(inputs, func(in InputSpec) bool { return in.Name == name })
	return inputs[i]
}

// value is an input, or its default when nothing is written. Defaults that are
// expressions are the runner's to work out.
func (r *reader) value(name string) string {
	v := Value(r.getenv, name)
	if d := spec(name).Default; v == "" && !strings.Contains(d, "${{") {
		return d
	}
	return v
}

func (r *reader) fault(name, what, hint string) {
	f := InputProblem{Input: name, What: what, Hint: hint}
	if !spec(name).Secret {
		f.Value = shorten(Value(r.getenv, name))
	}
	r.problems = append(r.problems, f)
}

// faulty reports whether something is wrong with an input already.
func (r *reader) faulty(name string) bool {
	return slices.ContainsFunc(r.problems, func(f InputProblem) bool { return f.Input == name })
}

func shorten(s string) string { return text.Shortened(s, maxShown) }

// word is an input that is one of a few words.
func (r *reader) word(name string, words ...string) string {
	v := r.value(name)
	if slices.Contains(words, v) {
		return v
	}
	hint := ""
	if near := protocol.Nearest(v, words); near != "" {
		hint = "did you mean " + near + "?"
	}
	r.fault(name, "want one of "+strings.Join(words, ", "), hint)
	return v
}

// parseBool reads what YAML's core schema calls a truth value.
func parseBool(v string) (bool, error) {
	switch v {
	case "true", "True", "TRUE":
		return true, nil
	case "false", "False", "FALSE":
		return false, nil
	}
	return false, errors.New("want true or false")
}

func (r *reader) boolean(name string) bool {
	v := r.value(name)
	if v == "" {
		return false
	}
	b, err := parseBool(v)
	if err != nil {
		r.fault(name, err.Error(), "")
	}
	return b
}

// choice is a truth value, or nil when nothing is written.
func (r *reader) choice(name string) *bool {
	if r.value(name) == "" {
		return nil
	}
	b := r.boolean(name)
	return &b
}

// path is an input of one line.
func (r *reader) path(name string) string {
	v := r.value(name)
	if strings.ContainsFunc(v, unicode.IsControl) || !utf8.ValidString(v) {
		r.fault(name, "want one line of text", "")
	}
	return v
}

// prefix is a word with which comments begin.
func (r *reader) prefix(name string) string {
	v := r.value(name)
	if len(v) > 50 || strings.ContainsFunc(v, func(c rune) bool { return !text.IsShown(c) || unicode.IsSpace(c) }) || strings.HasPrefix(v, ">") || strings.HasPrefix(v, "<") {
		r.fault(name, "want one word of at most 50 bytes that begins with neither > nor <", "")
	}
	return v
}

func (r *reader) key(name string) string {
	v := r.path(name)
	if len(v) > maxKey {
		r.fault(name, fmt.Sprintf("has %d bytes, want at most %d", len(v), maxKey), "")
	}
	return v
}

// told is an input whose default is an expression; "" on a runner that leaves it
// as it is.
func (r *reader) told(name string) string {
	if v := r.value(name); v != spec(name).Default {
		return v
	}
	return ""
}

func (r *reader) matrix(name string) string {
	digest, err := matrixDigest(r.told(name))
	if err != nil {
		r.fault(name, err.Error(), "leave it out: its default is right")
	}
	return digest
}

// jobName is the name of a job of the workflow, or "".
func (r *reader) jobName(name string) string {
	v := r.value(name)
	if v != "" && !protocol.IsJobName(v) {
		r.fault(name, "want up to 64 letters, digits, _ and -, beginning with a letter or _", "")
	}
	return v
}

// token is a secret that goes into a header.
func (r *reader) token(name string) string {
	v := r.value(name)
	unfit := func(c rune) bool { return c <= ' ' || c > '~' }
	if strings.ContainsFunc(v, unfit) {
		r.fault(name, "has blanks, line breaks or other characters in it that no key has", "")
	}
	return v
}

// versions reads the exact versions of agent CLIs that are given, by backend.
func (r *reader) versions() map[string]string {
	given := map[string]string{}
	for _, b := range slices.Sorted(maps.Keys(vendors)) {
		name := b + "-version"
		v := r.value(name)
		if v == "" {
			continue
		}
		if !exactVersion().MatchString(v) {
			r.fault(name, "want an exact version such as 2.1.128", "")
		}
		given[b] = v
	}
	return given
}

// resume reads what is resumed, and from which state execution of it a new run begins.
func (r *reader) resume(name string) (id, rerun string) {
	id, rerun, isRerun := strings.Cut(r.value(name), "@")
	isWord := slices.Contains([]string{ResumeAuto, ResumeNever, ResumeRequire}, id)
	if len(id) > maxID || !workflowIDs().MatchString(id) {
		r.fault(name, "want auto, never, require or a workflow id", "ids are 1 to 64 of a-z, 0-9 and -")
	} else if isRerun && (isWord || len(rerun) > maxKey || !executions().MatchString(rerun)) {
		r.fault(name, "want a workflow id before the @, and after it the number of a state execution or a state",
			"ID@57, ID@REVIEW for the last execution of REVIEW, ID@REVIEW#2 for its second")
	}
	return id, rerun
}

func (r *reader) interval(name string) time.Duration {
	v := r.value(name)
	d, err := time.ParseDuration(v)
	if err != nil || d < time.Second || strings.HasPrefix(v, "+") {
		r.fault(name, "want a duration of 1s at least, such as 90s or 5m", "")
	}
	return d
}

func (r *reader) number(name string, least, most int) int {
	v := r.value(name)
	n, err := strconv.Atoi(v)
	if err != nil || strconv.Itoa(n) != v || n < least || n > most {
		r.fault(name, fmt.Sprintf("want a whole number from %d to %d", least, most), "")
	}
	return n
}

// amount is a number of US dollars, 0 for none.
func (r *reader) amount(name string) state.USD {
	v := r.value(name)
	if v == "" {
		return 0
	}
	usd, err := state.ParseUSD(v)
	if err != nil {
		r.fault(name, err.Error(), "")
	}
	return usd
}

// list splits an input at blanks, commas and line breaks.
func (r *reader) list(name string) []string {
	return strings.FieldsFunc(r.value(name), func(c rune) bool { return c == ',' || unicode.IsSpace(c) })
}

// names is a list of what a pattern describes.
func (r *reader) names(name string, pattern *regexp.Regexp, want string) []string {
	list := r.list(name)
	for _, n := range list {
		if !pattern.MatchString(n) {
			r.fault(name, fmt.Sprintf("%q is no such name", shorten(n)), want)
		}
	}
	return list
}

// variables is a list of names of environment variables that may be passed on.
// Its problems show as little as possible: somebody may have written NAME=secret.
func (r *reader) variables(name string) []string {
	list := r.list(name)
	for _, entry := range list {
		n, _, assigned := strings.Cut(entry, "=")
		switch {
		case assigned || !variableName().MatchString(n):
			if f := (InputProblem{Input: name, What: "has something in it that is no name of a variable", Hint: "want names, not values"}); !slices.Contains(r.problems, f) {
				r.problems = append(r.problems, f)
			}
		case secrets.IsWithheld(n):
			r.problems = append(r.problems, InputProblem{Input: name, Value: n, What: "is never passed on to agents or scripts", Hint: "remove it"})
		}
	}
	return list
}

// workflowFiles is a list of workflow files, by name or path, in the form that
// WorkflowFile has.
func (r *reader) workflowFiles(name string) []string {
	var out []string
	for _, f := range r.list(name) {
		base := path.Base(f)
		if f != base && f != workflowFolder+base || !workflowNames().MatchString(base) {
			r.fault(name, fmt.Sprintf("%q is no workflow file", shorten(f)), "want names such as nightly.yml")
			continue
		}
		out = append(out, workflowPath(r.getenv, base))
	}
	return out
}
