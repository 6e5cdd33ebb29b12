package schema

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// most is how many violations of a text are told.
const most = 5

// violations lists failures, sorted by place and rule.
func violations(failures []failure) []Violation {
	var found []Violation
	for _, f := range failures {
		found = append(found, f.violation())
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

func (f failure) violation() Violation {
	v := Violation{Place: pointer(f.at.names()), Rule: shorten(f.schema.place) + shorten(f.keyword), Message: f.message() + tried(f.tried)}
	if v.Rule == "" {
		v.Rule = "/"
	}
	return v
}

func (f failure) message() string { return shorten(fmt.Sprintf(f.format, f.args...)) }

// tried says why none of some alternatives is met, each reason once, of many the first ones.
func tried(failures []failure) string {
	const shown = 3
	var list []string
	for _, f := range failures {
		text := f.message()
		if place := pointer(f.at.names()); place != "" {
			text = "at " + place + ": " + text
		}
		if text = shorten(text); !slices.Contains(list, text) {
			list = append(list, text)
		}
		if len(list) == shown {
			break
		}
	}
	if len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(list, "; or ")
}

// quoted is a text that is shown in quotation marks.
type quoted string

// String implements fmt.Stringer.
func (q quoted) String() string {
	text := strconv.Quote(shorten(string(q)))
	text = strings.ReplaceAll(text[1:len(text)-1], `\"`, `"`)
	return "'" + strings.ReplaceAll(text, "'", `\'`) + "'"
}

// list is texts that are shown in quotation marks.
type list []string

// String implements fmt.Stringer.
func (l list) String() string {
	var all []string
	for _, text := range l {
		if all = append(all, quoted(text).String()); len(all) > 100 {
			break // more is not shown in any case
		}
	}
	return strings.Join(all, ", ")
}

// places are the numbers of items.
type places []int

// String implements fmt.Stringer.
func (p places) String() string { return strings.Trim(fmt.Sprint([]int(p[:min(100, len(p))])), "[]") }

// whole is a number that is shown in groups of three digits.
type whole int

// String implements fmt.Stringer.
func (n whole) String() string { return grouped(strconv.Itoa(int(n))) }

// fractional is a number that is shown as what a computer usually makes of it.
type fractional struct{ *big.Rat }

// String implements fmt.Stringer.
func (r fractional) String() string {
	f, _ := r.Float64()
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if exponent := strings.Index(text, "e"); exponent > 0 && f < 1e21 && f > -1e21 && (f >= 1 || f <= -1) {
		text = strconv.FormatFloat(f, 'f', -1, 64)
	}
	return grouped(text)
}

// grouped puts commas between the thousands of a number.
func grouped(text string) string {
	end := len(text)
	if i := strings.IndexAny(text, ".eI"); i >= 0 {
		end = i
	}
	for at := end - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// pointer returns a JSON pointer.
func pointer(parts []string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("/" + escaped(p))
	}
	return shorten(b.String())
}

// shorten cuts a text to what one line of a message has room for.
func shorten(s string) string {
	const longest = 200
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}
