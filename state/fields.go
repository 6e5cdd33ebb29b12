package state

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/protocol"
)

// values contains the allowed values of fields. The struct tag "is" of a field names the entry in values.
var values = map[string][]string{
	"status":   {string(Running), string(Completed), string(Failed), string(OverBudget), string(OverIterations), string(Suspended), string(Cancelled)},
	"standing": {string(Ready), string(Busy), string(Stuck), string(Waiting)},
	"mode":     {string(Fresh), string(Resume), string(Branch)},
	"phase":    {string(PhaseAgent), string(PhaseVerify)},
	"cost":     {string(Exact), string(Estimated), string(Unknown)},
	"wait":     {string(ForTime), string(ForAnswer), string(ForAgents), string(ForJob)},
	"cap":      {BudgetPerKey, BudgetPerDay},
	"cage":     {"on", "require", "off"},
	"files":    {"git", "none"},
}

// form is a check for the text of a field. The struct tag "is" of the field names the form.
type form struct {
	fits    func(string) bool
	message string // end of the message about a text that does not fit; the message begins with the text
}

// forms contains the forms of fields, by the name in the struct tag "is".
var forms = map[string]form{
	"workflow": {ValidID, "is not a workflow id"},
	"mark":     {func(s string) bool { return len(s) >= 16 && !strings.ContainsAny(s, ".\x00") }, "is not the mark of a run"},
	"path":     {filepath.IsAbs, "is not an absolute path"},
	"file":     {fileName, "is not a file name"},
	"sha256":   {hexOf(64), "is not a SHA-256 in hex"},
	"agent":    {matches(`^main(_[a-z0-9_]{0,6}[0-9]+)*$`), "is not the name of an agent"},
	"who":      {isCause, "is not an agent, a script, a person or the start"},
	"backend":  {protocol.IsBackend, "is not a known agent"},
	"session":  {ValidSession, "is not a session id"},
	"job":      {matches(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`), "is not the name of a job"},
	"token":    {hexOf(32), "is not a token"},
	"trace":    {func(s string) bool { return hexOf(32)(s) && isSet(s) }, "is not the id of a trace"},
	"span":     {func(s string) bool { return hexOf(16)(s) && isSet(s) }, "is not the id of a span"},
}

// matches returns a function that reports whether a text matches the pattern. The pattern is compiled when
// it is first used, because compiling all patterns at the start would take a long time.
func matches(pattern string) func(string) bool {
	compiled := text.Regexp(pattern)
	return func(s string) bool { return compiled().MatchString(s) }
}

// isSet reports whether the id of a trace or span is valid. An id that consists of zeros means no id.
func isSet(id string) bool { return strings.Trim(id, "0") != "" }

// isCause reports whether s can be a value of Agent.By.
func isCause(s string) bool {
	kind, _, _ := strings.Cut(s, " ")
	return slices.Contains([]string{"agent", "script", "person", "start"}, kind) && fileName(s)
}

var (
	isID        = matches(`^[a-z0-9][a-z0-9-]*$`)
	isDevice    = matches(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])$`)
	isSessionID = matches(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
	isHex       = matches(`^[0-9a-f]+$`)
)

// ValidID reports whether s can be the id of a run. Ids must also be valid file names on
// Windows.
func ValidID(s string) bool { return len(s) <= 64 && isID(s) && !isDevice(s) }

// ValidSession reports whether s can be the id of a conversation. Such ids become part of file names.
func ValidSession(s string) bool { return len(s) <= 128 && isSessionID(s) }

// hexOf returns a function that reports whether a text consists of exactly n hexadecimal digits.
func hexOf(n int) func(string) bool {
	return func(s string) bool { return len(s) == n && isHex(s) }
}

// fileName reports whether s can be the name of a state's file.
func fileName(s string) bool {
	bad := func(r rune) bool { return r < ' ' || r == '/' || r == '\\' }
	return s != "" && s != "." && s != ".." && strings.IndexFunc(s, bad) < 0
}

// maxCount is larger than any count in a run can become. It is small enough that sums don't overflow.
const maxCount = 1 << 53

// amounts are the integer types to which the maximum maxCount does not apply.
var amounts = map[reflect.Type]bool{reflect.TypeFor[USD](): true, reflect.TypeFor[Duration](): true}

// eachField calls do for each text, number and time in v. at is the path of the value, like
// "agents[0].id". rule is the struct tag "is" of its field:
//   - For a text, rule names an entry of values or forms. With a "?" at its end, the text may be empty.
//   - For a time, any rule means that the time must be set.
//   - For a number, "positive" requires at least 1, and "signed" allows negative numbers, like the
//     exit code -1. Without a rule, the number must not be negative.
//   - "-" means that the field is skipped.
func eachField(v reflect.Value, rule, at string, do func(v reflect.Value, rule, at string)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			eachField(v.Elem(), rule, at, do)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachField(v.Index(i), rule, fmt.Sprintf("%s[%d]", at, i), do)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			eachField(v.MapIndex(key), rule, at+"."+key.String(), do)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			do(v, rule, at)
			return
		}
		for field, inner := range v.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case !field.IsExported() || name == "-" || field.Tag.Get("is") == "-":
			case field.Anonymous:
				eachField(inner, "", at, do)
			default:
				eachField(inner, field.Tag.Get("is"), strings.TrimPrefix(at+"."+name, "."), do)
			}
		}
	default:
		do(v, rule, at)
	}
}

// field checks a text, a number or a time against the struct tag of its field. It checks numbers against
// maxCount, too.
func (c *checker) field(v reflect.Value, rule, at string) {
	switch v.Kind() {
	case reflect.String:
		s := v.String()
		rule, optional := strings.CutSuffix(rule, "?")
		if rule == "" || optional && s == "" {
			return
		}
		if known, ok := values[rule]; ok {
			c.want(slices.Contains(known, s), at, "%q is unknown", s)
			return
		}
		f := forms[rule]
		c.want(f.fits(s), at, "%q %s", s, f.message)
	case reflect.Int, reflect.Int64:
		n := v.Int()
		c.want(n >= 0 || rule == "signed", at, "is negative")
		c.want(n >= 1 || rule != "positive", at, "is %d, want at least 1", n)
		c.want(n <= maxCount || amounts[v.Type()], at, "is %d, more than %d", n, maxCount)
	case reflect.Struct:
		c.want(rule == "" || !v.Interface().(time.Time).IsZero(), at, "is missing")
	}
}

// Relocate returns a copy of the run for another machine. The function where returns the path that a
// directory has on that machine. The agents' messages and variables stay unchanged, even if they contain
// paths. The copy shares no memory with r.
func (r *Run) Relocate(where func(string) string) (*Run, error) {
	data, err := r.Encode()
	if err != nil {
		return nil, err
	}
	c, err := Decode(data)
	if err != nil {
		return nil, err
	}
	eachField(reflect.ValueOf(c), "", "", func(v reflect.Value, rule, _ string) {
		if (rule == "path" || rule == "path?") && v.String() != "" {
			v.SetString(where(v.String()))
		}
	})
	return c, nil
}

// StateRef is a field of a run that contains the name of a state.
type StateRef struct {
	Field string // path of the field, for example "agents[0].stack[2].state"
	State string // file name of the state
}

// StateRefs returns all references from agents to states: their current states, return states, the
// targets of pending moves, and the states after the timeouts of questions.
func (r *Run) StateRefs() []StateRef {
	var places []StateRef
	for i, a := range r.Agents {
		eachField(reflect.ValueOf(a), "", fmt.Sprintf("agents[%d]", i), func(v reflect.Value, rule, at string) {
			if (rule == "file" || rule == "file?") && v.String() != "" {
				places = append(places, StateRef{at, v.String()})
			}
		})
	}
	return places
}

// Keywords returns the fixed words in state files and logs: the names of fields and events, and the
// values of statuses and similar fields. All runs contain these words, so they can't be secrets.
func Keywords() []string {
	words := []string{"timeout", "clean_with_flake", "catastrophic", "iterations", "function", "usage_limit", "transient"}
	for _, known := range values {
		words = append(words, known...)
	}
	seen := map[reflect.Type]bool{}
	addFields(&words, seen, reflect.TypeFor[Run]())
	addFields(&words, seen, reflect.TypeFor[envelope]())
	for name, body := range bodies {
		words = append(words, name)
		addFields(&words, seen, body)
	}
	return words
}

// addFields adds the JSON names of all fields of a type, and of the types of these fields, to words. seen
// contains the types that have been added.
func addFields(words *[]string, seen map[reflect.Type]bool, t reflect.Type) {
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		addFields(words, seen, t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				*words = append(*words, name)
			}
			addFields(words, seen, f.Type)
		}
	}
}

// Map returns a copy of the event in which f has been applied to every string in the body, including the
// names of files and models. It does not apply f to the keys of maps.
func (e Event) Map(f func(string) string) Event {
	body := reflect.New(reflect.TypeOf(e.Body).Elem())
	body.Elem().Set(mapTexts(reflect.ValueOf(e.Body).Elem(), f))
	e.Body = body.Interface().(Body)
	return e
}

// MapTexts returns a deep copy of v in which f has been applied to every string in exported fields. It
// does not apply f to the keys of maps.
func MapTexts[T any](v T, f func(string) string) T {
	return mapTexts(reflect.ValueOf(v), f).Interface().(T)
}

// mapTexts implements MapTexts for a reflect.Value.
func mapTexts(v reflect.Value, f func(string) string) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	switch v.Kind() {
	case reflect.String:
		c.SetString(f(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			c.Set(reflect.New(v.Type().Elem()))
			c.Elem().Set(mapTexts(v.Elem(), f))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				c.Field(i).Set(mapTexts(v.Field(i), f))
			}
		}
	case reflect.Slice:
		if !v.IsNil() {
			c.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		}
		for i := range v.Len() {
			c.Index(i).Set(mapTexts(v.Index(i), f))
		}
	case reflect.Map:
		if !v.IsNil() {
			c.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		}
		for _, key := range v.MapKeys() {
			c.SetMapIndex(key, mapTexts(v.MapIndex(key), f))
		}
	}
	return c
}
