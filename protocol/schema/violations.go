package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// most is how many violations of a text are told.
const most = 5

// violations lists what the library found, sorted by place and rule.
func violations(err *jsonschema.ValidationError) []Violation {
	var found []Violation
	for _, leaf := range leaves(err) {
		found = append(found, violationOf(leaf))
	}
	slices.SortFunc(found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	found = slices.Compact(found)
	if more := len(found) - most; more > 0 {
		found = append(found[:most], Violation{Message: fmt.Sprintf("%d more of these", more)})
	}
	return found
}

// leaves returns the errors that are told of: those without causes, and those that list what
// they have tried.
func leaves(err *jsonschema.ValidationError) []*jsonschema.ValidationError {
	switch err.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Contains, *kind.MinContains, *kind.PropertyNames:
		return []*jsonschema.ValidationError{err}
	}
	if len(err.Causes) == 0 {
		return []*jsonschema.ValidationError{err}
	}
	var all []*jsonschema.ValidationError
	for _, cause := range err.Causes {
		all = append(all, leaves(cause)...)
	}
	return all
}

func violationOf(err *jsonschema.ValidationError) Violation {
	if extra, ok := err.ErrorKind.(*kind.AdditionalProperties); ok {
		slices.Sort(extra.Properties)
	}
	v := Violation{Place: pointer(err.InstanceLocation), Rule: fragment(err.SchemaURL) + pointer(err.ErrorKind.KeywordPath())}
	v.Message = shorten(message(err))
	switch err.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		v.Message += tried(err.Causes)
	case *kind.PropertyNames:
		v.Place = "" // the library has lost it
		v.Message += tried(err.Causes)
	}
	if v.Rule == "" {
		v.Rule = "/"
	}
	return v
}

// message is what the library says of an error without its causes.
func message(err *jsonschema.ValidationError) string {
	alone := jsonschema.ValidationError{SchemaURL: err.SchemaURL, ErrorKind: err.ErrorKind}
	return alone.DetailedOutput().Error.String()
}

// tried says why none of some alternatives is met, of many the first ones.
func tried(causes []*jsonschema.ValidationError) string {
	const shown = 3
	var list []string
	for _, c := range causes[:min(shown, len(causes))] {
		first := leaves(c)[0]
		text := message(first)
		if place := pointer(first.InstanceLocation); place != "" {
			text = "at " + place + ": " + text
		}
		list = append(list, shorten(text))
	}
	if len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(list, "; or ")
}

// pointer returns a JSON pointer.
func pointer(parts []string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("/" + escaped(p))
	}
	return shorten(b.String())
}

// fragment returns the JSON pointer of a place in the schema.
func fragment(url string) string {
	_, part, _ := strings.Cut(url, "#")
	return shorten(part)
}

// shorten cuts a text to what one line of a message has room for.
func shorten(s string) string {
	const longest = 200
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}
