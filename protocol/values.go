package protocol

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// isText reports whether a node is a string without NUL, and notes the fault of
// the key if not.
func (f *front) isText(key string, n *yaml.Node) bool {
	switch {
	case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str":
		problem := f.fault(n, "wrong-type", "%s is %s, not a string", key, describe(n))
		if n.Kind == yaml.ScalarNode && !isNull(n) {
			problem.Hint = "put it in quotes"
		}
	case strings.ContainsRune(n.Value, 0):
		f.fault(n, "wrong-value", "%s has a NUL character", key)
	default:
		return true
	}
	return false
}

// text reads a string that is not blank.
func (f *front) text(key string, n *yaml.Node, to *string) bool {
	if !f.isText(key, n) {
		return false
	}
	if strings.TrimSpace(n.Value) == "" {
		f.fault(n, "wrong-value", "%s is empty", key)
		return false
	}
	*to = n.Value
	return true
}

// texts reads a list of strings that are not blank. A list without entries
// becomes one that is not nil.
func (f *front) texts(key string, n *yaml.Node, to *[]string) bool {
	if n.Kind != yaml.SequenceNode {
		f.fault(n, "wrong-type", "%s is %s, not a list", key, describe(n)).Hint = "write " + key + ": […]"
		return false
	}
	list, good := []string{}, true
	for _, item := range n.Content {
		var s string
		good = f.text("an entry of "+key, item, &s) && good
		list = append(list, s)
	}
	if good {
		*to = list
	}
	return good
}

// choice reads one of some words.
func (f *front) choice(key string, n *yaml.Node, words []string) (string, bool) {
	var s string
	if !f.text(key, n, &s) {
		return "", false
	}
	if !slices.Contains(words, s) {
		problem := f.fault(n, "wrong-value", "%s is %s, not one of %s", key, quote(s), strings.Join(words, ", "))
		problem.Hint = didYouMean(s, words)
		return "", false
	}
	return s, true
}

// duration reads a Go duration above zero.
func (f *front) duration(key string, n *yaml.Node, to *time.Duration) bool {
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		if d, ok := parseDuration(n.Value); ok && n.ShortTag() == "!!str" {
			*to = d
			return true
		}
	}
	f.fault(n, "wrong-value", "%s is %s, not a duration above zero", key, describe(n)).Hint =
		"write it as in 90s, 10m or 1h30m"
	return false
}

func (f *front) optionalDuration(key string, n *yaml.Node, to **time.Duration) {
	var d time.Duration
	if f.duration(key, n, &d) {
		*to = &d
	}
}

// count reads a whole number from 1 to most, written in plain decimal.
func (f *front) count(key string, n *yaml.Node, most int) (int, bool) {
	i, err := strconv.Atoi(n.Value)
	plain := n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" && strconv.Itoa(i) == n.Value
	if err != nil || !plain || i < 1 || i > most {
		f.fault(n, "wrong-value", "%s is %s, not a whole number from 1 to %d", key, describe(n), most)
		return 0, false
	}
	return i, true
}

// boolean reads true or false.
func (f *front) boolean(key string, n *yaml.Node, to *bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
		f.fault(n, "wrong-type", "%s is %s, not true or false", key, describe(n))
		return
	}
	*to = strings.EqualFold(n.Value, "true")
}
