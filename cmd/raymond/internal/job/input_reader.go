package job

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// reader reads inputs and collects the problems with them.
type reader struct {
	getenv   func(string) string
	problems []InputProblem
}

// check checks all inputs that don't set flags, and adds the problems to r.problems.
func (r *reader) check() {
	for _, in := range inputs {
		v := InputValue(r.getenv, in.Name)
		if v == "" || v == in.Default || in.Flag != "" {
			continue
		}
		var found []InputProblem
		switch {
		case in.Bool:
			found = isBool(v)
		case in.check != nil:
			found = in.check(v)
		}
		for _, f := range found {
			if f.Input = in.Name; in.Secret {
				f.Value = ""
			}
			r.problems = append(r.problems, f)
		}
	}
}

// hasProblem reports whether a problem with an input has been found.
func (r *reader) hasProblem(name string) bool {
	return slices.ContainsFunc(r.problems, func(f InputProblem) bool { return f.Input == name })
}

// value returns an input, or its default if the input is empty. Only the runner can evaluate a default
// that is an expression. If the runner hasn't evaluated it, value returns "".
func (r *reader) value(name string) string {
	spec := slices.IndexFunc(inputs, func(in InputSpec) bool { return in.Name == name }) // never -1, because a test fails if a name has no spec
	v, standard := InputValue(r.getenv, name), inputs[spec].Default
	if isExpression := strings.Contains(standard, "${{"); isExpression && v == standard {
		return ""
	} else if !isExpression && v == "" {
		return standard
	}
	return v
}

// fill sets the fields of a struct that have an input tag. The values must have been checked before.
func (r *reader) fill(to reflect.Value) {
	for i := range to.NumField() {
		name, isInput := to.Type().Field(i).Tag.Lookup("input")
		if !isInput {
			continue
		}
		v := r.value(name)
		is, _ := parseBool(v)
		switch field := to.Field(i).Addr().Interface().(type) {
		case *string:
			*field = v
		case *[]string:
			*field = entries(v)
		case *bool:
			*field = is
		case **bool:
			if v != "" {
				*field = &is
			}
		case *int:
			*field, _ = strconv.Atoi(v)
		case *state.USD:
			*field, _ = state.ParseUSD(v)
		default:
			panic("internal error: no input becomes a " + to.Field(i).Type().String())
		}
	}
}
