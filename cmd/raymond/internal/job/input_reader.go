package job

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// reader reads inputs and collects what is wrong with them.
type reader struct {
	getenv   func(string) string
	problems []InputProblem
}

// check checks all inputs but those that are flags, which whoever reads the flags does.
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

// faulty reports whether something is wrong with an input already.
func (r *reader) faulty(name string) bool {
	return slices.ContainsFunc(r.problems, func(f InputProblem) bool { return f.Input == name })
}

// value is an input, or its default when nothing is written. Defaults that are
// expressions are the runner's to work out: "" on one that leaves them as they are.
func (r *reader) value(name string) string {
	spec := slices.IndexFunc(inputs, func(in InputSpec) bool { return in.Name == name }) // a test notices a name without one
	v, standard := InputValue(r.getenv, name), inputs[spec].Default
	if isExpression := strings.Contains(standard, "${{"); isExpression && v == standard {
		return ""
	} else if !isExpression && v == "" {
		return standard
	}
	return v
}

// fill reads the fields of a struct that are tagged with the names of inputs. What they are was checked.
func (r *reader) fill(to reflect.Value) {
	for i := range to.NumField() {
		name, isInput := to.Type().Field(i).Tag.Lookup("input")
		if !isInput {
			continue
		}
		v := r.value(name)
		is, _ := truth(v)
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
		case *time.Duration:
			*field, _ = time.ParseDuration(v)
		case *state.USD:
			*field, _ = state.ParseUSD(v)
		default:
			panic("internal error: no input becomes a " + to.Field(i).Type().String())
		}
	}
}
