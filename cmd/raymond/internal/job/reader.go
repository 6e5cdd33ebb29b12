package job

import (
	"slices"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// reader reads inputs and collects what is wrong with them.
type reader struct {
	getenv   func(string) string
	problems []InputProblem
}

// spec returns the declaration of an input; a name without one is a mistake of
// ours that any test notices.
func spec(name string) InputSpec {
	i := slices.IndexFunc(inputs, func(in InputSpec) bool { return in.Name == name })
	return inputs[i]
}

// check checks all inputs but those that are flags, which whoever reads the flags does.
func (r *reader) check() {
	for _, in := range inputs {
		v := Value(r.getenv, in.Name)
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

// fault notes that something is wrong with an input that has a value of the right form.
func (r *reader) fault(name, what, hint string) {
	r.problems = append(r.problems, InputProblem{Input: name, Value: shorten(Value(r.getenv, name)), What: what, Hint: hint})
}

// faulty reports whether something is wrong with an input already.
func (r *reader) faulty(name string) bool {
	return slices.ContainsFunc(r.problems, func(f InputProblem) bool { return f.Input == name })
}

// value is an input, or its default when nothing is written. Defaults that are
// expressions are the runner's to work out: "" on one that leaves them as they are.
func (r *reader) value(name string) string {
	v, standard := Value(r.getenv, name), spec(name).Default
	if isExpression := strings.Contains(standard, "${{"); isExpression && v == standard {
		return ""
	} else if !isExpression && v == "" {
		return standard
	}
	return v
}

// list are the entries of an input.
func (r *reader) list(name string) []string { return entries(r.value(name)) }

func (r *reader) boolean(name string) bool {
	b, _ := truth(r.value(name))
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

func (r *reader) number(name string) int {
	n, _ := strconv.Atoi(r.value(name)) // as it was checked
	return n
}

// amount is a number of US dollars, 0 for none.
func (r *reader) amount(name string) state.USD {
	usd, _ := state.ParseUSD(r.value(name)) // as it was checked
	return usd
}
