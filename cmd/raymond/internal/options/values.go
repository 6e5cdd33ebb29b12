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

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// Into returns a function that parses a flag's value and stores the result at a pointer.
func Into[T any](at *T, parse func(string) (T, error)) func(string) error {
	return func(s string) (err error) {
		*at, err = parse(s)
		return err
	}
}

// ofRun is like Into for flags that set options of a run. Apply calls set to store the value there.
func ofRun[T any](o *Options, parse func(string) (T, error), set func(*state.Options, T)) func(string) error {
	return func(s string) error {
		v, err := parse(s)
		o.change(func(run *state.Options) { set(run, v) })
		return err
	}
}

// Each returns a parser for a flag that may be repeated. At each call, the parser returns all values so far.
func Each[T any](parse func(string) (T, error)) func(string) ([]T, error) {
	return each(func(s string) ([]T, error) {
		v, err := parse(s)
		return []T{v}, err
	})
}

// each is like Each for a flag that may be repeated and whose value may be a list.
func each[T any](parse func(string) ([]T, error)) func(string) ([]T, error) {
	var all []T
	return func(s string) ([]T, error) {
		list, err := parse(s)
		all = append(all, list...)
		return all, err
	}
}

// oneArgument accepts one argument of a command line. It rejects a flag that is followed by a space and a
// value, because these are two arguments.
func oneArgument(s string) (string, error) {
	if m := regexp.MustCompile(`^(--?[A-Za-z][A-Za-z0-9-]*)\s+(\S.*)$`).FindStringSubmatch(s); m != nil {
		return s, fmt.Errorf("is a flag and its value: give one argument per line of claude-args, or per --claude-arg: %q and %q, or %q", m[1], m[2], m[1]+"="+m[2])
	}
	return s, nil
}

// anything accepts any value.
func anything(s string) (string, error) { return s, nil }

// NotEmpty accepts any value except the empty string.
func NotEmpty(s string) (string, error) {
	if s == "" {
		return s, errors.New("is empty")
	}
	return s, nil
}

// notBlank accepts values that contain more than white space.
func notBlank(s string) (string, error) {
	_, err := NotEmpty(strings.TrimSpace(s))
	return s, err
}

// OneOf returns a parser that accepts only the given words.
func OneOf(words ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		if slices.Contains(words, s) {
			return s, nil
		}
		return s, fmt.Errorf("use %s or %s", strings.Join(words[:len(words)-1], ", "), words[len(words)-1])
	}
}

// ParseBool parses the value of a switch: true or false.
func ParseBool(s string) (bool, error) {
	if s != "true" && s != "false" {
		return false, errors.New("use true or false")
	}
	return s == "true", nil
}

// MetaKey accepts names that a template variable may have.
func MetaKey(s string) (string, error) {
	if !regexp.MustCompile(`^[A-Za-z0-9_]+$`).MatchString(s) {
		return s, errors.New("use a key of letters, digits and _")
	}
	return s, nil
}

// from returns a parser that accepts whole numbers from least to 1e9, without signs and leading zeros.
func from(least int) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || strconv.Itoa(n) != s || n < least || n > 1e9 {
			return 0, fmt.Errorf("use a whole number of at least %d", least)
		}
		return n, nil
	}
}

// attempts parses a number of attempts, from 1 to 100.
func attempts(s string) (int, error) {
	n, err := from(1)(s)
	if err == nil && n > 100 {
		err = errors.New("use at most 100")
	}
	return n, err
}

// duration parses a Go duration without a sign.
func duration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
		return 0, errors.New("use a duration such as 90s, 15m or 2h30m")
	}
	return d, nil
}

// dollars parses an amount of US dollars without an exponent.
func dollars(s string) (state.USD, error) {
	v, err := state.ParseUSD(s)
	if strings.ContainsAny(s, "eE") {
		err = errors.New("use a plain decimal number of US dollars")
	}
	return v, err
}

// size parses a number of bytes, like 64MiB.
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
	return 0, errors.New("use a size such as 64MiB, 512KiB or 0")
}

// model accepts the name of a model. It is also used for efforts, whose names have the same syntax.
func model(s string) (string, error) {
	if !protocol.IsModel(s) {
		return s, errors.New("use " + protocol.ModelNames)
	}
	return s, nil
}

// tools splits a list at commas and white space that are outside of parentheses.
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

// variables splits a list of environment variables' names at commas and white space. It rejects lists
// with values.
func variables(s string) ([]string, error) {
	_, err := NotEmpty(s)
	if strings.Contains(s, "=") {
		err = errors.New("use names of variables, without values")
	}
	return strings.FieldsFunc(s, func(c rune) bool { return c == ',' || unicode.IsSpace(c) }), err
}

// jobs splits a list of job names at commas. It rejects invalid names.
func jobs(s string) ([]string, error) {
	var names []string
	for name := range strings.SplitSeq(s, ",") {
		name = strings.TrimSpace(name)
		if !protocol.IsJobName(name) {
			return nil, errors.New("use names of up to 64 letters, digits, _ and -, beginning with a letter or _, separated by commas")
		}
		names = append(names, name)
	}
	return names, nil
}

// path accepts a path without control characters.
func path(s string) (string, error) {
	_, err := NotEmpty(s)
	if strings.ContainsFunc(s, unicode.IsControl) {
		err = errors.New("use a path without control characters")
	}
	return filepath.FromSlash(s), err
}

// logFile accepts the path of a file to which events can be appended. The file need not exist yet. "-" is
// stdout.
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

// folder accepts the path of a directory, which need not exist yet. Problems such as missing permissions
// are reported when the directory is used.
func folder(s string) (string, error) {
	if _, err := NotEmpty(s); err != nil {
		return s, err
	}
	for at := s; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err == nil && !info.IsDir() {
			return s, fmt.Errorf("%s is not a directory", at)
		}
		if err == nil || at == filepath.Dir(at) {
			return s, nil
		}
	}
}
