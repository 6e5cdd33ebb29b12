package options

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// Into returns what a flag does that puts its value somewhere, as parse reads it.
func Into[T any](at *T, parse func(string) (T, error)) func(string) error {
	return func(s string) (err error) {
		*at, err = parse(s)
		return err
	}
}

// ofRun is Into for the options of a run: set puts the value there.
func ofRun[T any](o *Options, parse func(string) (T, error), set func(*state.Options, T)) func(string) error {
	return func(s string) error {
		v, err := parse(s)
		o.change(func(run *state.Options) { set(run, v) })
		return err
	}
}

// Each reads a flag that may be repeated, whose value is a list then.
func Each[T any](parse func(string) (T, error)) func(string) ([]T, error) {
	return each(func(s string) ([]T, error) {
		v, err := parse(s)
		return []T{v}, err
	})
}

// each is Each for a flag with several values.
func each[T any](parse func(string) ([]T, error)) func(string) ([]T, error) {
	var all []T
	return func(s string) ([]T, error) {
		list, err := parse(s)
		all = append(all, list...)
		return all, err
	}
}

// oneArgument takes one argument of a command line. A flag with a blank after its name is two arguments.
func oneArgument(s string) (string, error) {
	if m := regexp.MustCompile(`^(--?[A-Za-z][A-Za-z0-9-]*)\s+(\S.*)$`).FindStringSubmatch(s); m != nil {
		return s, fmt.Errorf("is a flag and its value: give one argument per line of claude-args, or per --claude-arg: %q and %q, or %q", m[1], m[2], m[1]+"="+m[2])
	}
	return s, nil
}

// anything takes all values.
func anything(s string) (string, error) { return s, nil }

// NotEmpty takes what has at least one character.
func NotEmpty(s string) (string, error) {
	if s == "" {
		return s, errors.New("is empty")
	}
	return s, nil
}

// notBlank takes what has more than blanks.
func notBlank(s string) (string, error) {
	_, err := NotEmpty(strings.TrimSpace(s))
	return s, err
}

// OneOf takes one of some words.
func OneOf(words ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		if slices.Contains(words, s) {
			return s, nil
		}
		return s, fmt.Errorf("want %s or %s", strings.Join(words[:len(words)-1], ", "), words[len(words)-1])
	}
}

// ParseBool reads what a switch may be.
func ParseBool(s string) (bool, error) {
	if s != "true" && s != "false" {
		return false, errors.New("want true or false")
	}
	return s == "true", nil
}

// MetaKey takes what a template variable may be called.
func MetaKey(s string) (string, error) {
	if !regexp.MustCompile(`^[A-Za-z0-9_]+$`).MatchString(s) {
		return s, errors.New("want a key of letters, digits and _")
	}
	return s, nil
}

// from reads a whole number strictly, of at least so much.
func from(least int) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || strconv.Itoa(n) != s || n < least || n > 1e9 {
			return 0, fmt.Errorf("want a whole number from %d", least)
		}
		return n, nil
	}
}

// attempts reads a number of attempts.
func attempts(s string) (int, error) {
	n, err := from(1)(s)
	if err == nil && n > 100 {
		err = errors.New("want at most 100")
	}
	return n, err
}

// duration reads a Go duration that is not negative.
func duration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
		return 0, errors.New("want a duration such as 90s, 15m or 2h30m")
	}
	return d, nil
}

func dollars(s string) (state.USD, error) {
	v, err := state.ParseUSD(s)
	if strings.ContainsAny(s, "eE") {
		err = errors.New("want a plain decimal number of US dollars")
	}
	return v, err
}

// size reads a number of bytes, such as 64MiB.
func size(s string) (int64, error) {
	const most = 1 << 40
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"", 1}} {
		if digits, ok := strings.CutSuffix(s, unit.name); ok {
			if n, err := strconv.ParseUint(digits, 10, 63); err == nil && int64(n) <= most/unit.bytes {
				return int64(n) * unit.bytes, nil
			}
			break
		}
	}
	return 0, errors.New("want a size such as 64MiB, 512KiB or 0")
}

// model takes the name of a model, and of what else is named like one.
func model(s string) (string, error) {
	if !protocol.IsModel(s) {
		return s, errors.New("want " + protocol.ModelNames)
	}
	return s, nil
}

// tools splits a list at commas and blanks outside of parentheses.
func tools(s string) ([]string, error) {
	_, err := notBlank(s)
	depth := 0
	return strings.FieldsFunc(s, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return depth == 0 && (r == ',' || r == ' ' || r == '\t' || r == '\n')
	}), err
}

// variables splits a list of names of variables.
func variables(s string) ([]string, error) {
	_, err := NotEmpty(s)
	if strings.Contains(s, "=") {
		err = errors.New("want names of variables")
	}
	return strings.FieldsFunc(s, func(c rune) bool { return c == ',' || unicode.IsSpace(c) }), err
}

// jobs splits a list of jobs.
func jobs(s string) ([]string, error) {
	var names []string
	for name := range strings.SplitSeq(s, ",") {
		name = strings.TrimSpace(name)
		if !protocol.IsJobName(name) {
			return nil, errors.New("want names of up to 64 letters, digits, _ and -, beginning with a letter or _, separated by commas")
		}
		names = append(names, name)
	}
	return names, nil
}

// path takes what can be one.
func path(s string) (string, error) {
	_, err := NotEmpty(s)
	if strings.ContainsFunc(s, unicode.IsControl) {
		err = errors.New("want a path")
	}
	return filepath.FromSlash(s), err
}

// content reads a file, of so many bytes at most.
func content(most int64) func(string) (string, error) {
	return func(s string) (string, error) {
		data, err := files.ReadTarget(s, most)
		return string(data), err
	}
}

// logFile takes a file to which events can be appended, though it may be missing; "-" is stdout.
func logFile(s string) (string, error) {
	if info, err := os.Stat(s); err == nil && info.IsDir() {
		return s, errors.New("is a directory")
	}
	if _, err := NotEmpty(s); err != nil {
		return s, err
	}
	_, err := folder(filepath.Dir(s))
	return s, err
}

// folder takes what can be a folder, though it may be missing. Why else it can't is found out when it is used.
func folder(s string) (string, error) {
	if _, err := NotEmpty(s); err != nil {
		return s, err
	}
	for at := s; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err == nil && !info.IsDir() {
			return s, fmt.Errorf("%s is no directory", at)
		}
		if err == nil || at == filepath.Dir(at) {
			return s, nil
		}
	}
}
