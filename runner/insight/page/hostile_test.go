package page

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

const trick = "\"'`</script></style></title></pre><b onclick=x>\x1b[31m\x00\u202e\u200b\x07\xff-->{{.}}"

// fill fills a value: it sets every string to trick and every number to n, and puts one filled
// element into every list and map.
func fill(v reflect.Value, trick string, n int64) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(trick)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(n)
	case reflect.Float64:
		v.SetFloat(float64(n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), trick, n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), trick, n)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, trick, n)
		fill(value, trick, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(epoch))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), trick, n)
			}
		}
	}
}

// filledReport returns a report in which every field is filled, with a message of each kind.
func filledReport(trick string, n int64) *insight.Report {
	var r insight.Report
	fill(reflect.ValueOf(&r).Elem(), trick, n)
	x := &r.Executions[0]
	for _, from := range []runner.Speaker{runner.FromUser, runner.FromAgent, runner.FromTool} {
		m := x.Messages[0]
		m.Subagent, m.From = "", from
		x.Messages = append(x.Messages, m)
	}
	r.Waits[0].For = state.ForAnswer
	return &r
}

// TestEveryTextIsEscaped checks that a page contains no text unescaped, by filling all fields of a
// report with attacks.
func TestEveryTextIsEscaped(t *testing.T) {
	for _, n := range []int64{1, 0, -1, 1 << 62} {
		r := filledReport(trick, n)
		r.Result = "https://evil.example/" + trick + " <https://evil.example/?x=" + trick
		checkHarmless(t, render(t, r))
	}
}

// checkHarmless fails the test if a page contains an attack that is not escaped.
func checkHarmless(t *testing.T, page string) {
	t.Helper()
	_, body, _ := strings.Cut(page, "<body>")
	body, _, _ = strings.Cut(body, "<script>")
	for _, bad := range []string{"<b onclick", "</script", "</style", "</title", "-->", `'x`} {
		at := strings.Index(body, bad)
		assert.Check(t, at < 0, "got %q in the body", body[max(0, at-80):min(len(body), at+40)])
	}
	assert.Check(t, strings.Count(page, "</title>") == 1 && strings.Count(page, "<script") == 1 && strings.Count(page, "<style") <= 2, "got another number of titles, scripts or styles")
	assert.Check(t, utf8.ValidString(page), "got text that is not UTF-8")
	at := strings.IndexFunc(body, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) || text.IsInvisible(r) })
	assert.Check(t, at < 0, "got the invisible character %q", body[max(0, at-200):min(len(body), at+20)])
}

// TestMalformedDataIsShown checks that agents whose parents form a cycle have rows, and that a
// tool's input is shown even if it is not a complete JSON object.
func TestMalformedDataIsShown(t *testing.T) {
	r := &insight.Report{Agents: []report.Agent{{ID: "a", Parent: "b"}, {ID: "b", Parent: "a"}}, Executions: []report.Exec{{N: 1, Agent: "a"}}}
	assert.Equal(t, len(inOrder(r)), 1)
	fields, _ := toolInput("{ make; }")
	assert.Equal(t, fields[0].Value, "{ make; }")
}
