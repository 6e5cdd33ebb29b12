package jsonstrict

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// file is the type that the tests decode.
type file struct {
	Schema int               `json:"schema"`
	Name   string            `json:"name"`
	Parts  []part            `json:"parts,omitzero"`
	Vars   map[string]string `json:"vars,omitzero"`
}

type part struct {
	Size int   `json:"size"`
	Next *part `json:"next,omitzero"`
}

const good = `{"schema": 2, "name": "x", "parts": [{"size": 1}, {"size": 2, "next": {"size": 3}}], "vars": {"k": "v"}}` + "\n"

// bad are replacements in good. Each must cause an error about the named field. The error's text must contain
// what.
var bad = []struct{ old, new, field, what string }{
	{`"name": "x"`, `"name": "x", "name": "y"`, "name", "duplicate"},
	{`"name": "x"`, `"name": "x", "na\u006de": "y"`, "name", "duplicate"},
	{`"name": "x"`, `"Name": "x"`, "Name", "unknown"},
	{`"name": "x"`, `"name": "x", "more": 1`, "more", "unknown"},
	{`"name": "x"`, `"name": "x", "": 1`, "", "unknown"},
	{`"name": "x"`, `"name": null`, "name", "null"},
	{`"size": 2`, `"size": null`, "parts[1].size", "null"},
	{`{"size": 1}`, `null`, "parts[0]", "null"},
	{`{"size": 1}`, `7`, "parts[0]", ""},
	{`"size": 3`, `"size": 1.5`, "parts[1].next.size", ""},
	{`"size": 3`, `"size": 1e99`, "parts[1].next.size", ""},
	{`"size": 3`, `"size": "3"`, "parts[1].next.size", ""},
	{`"name": "x"`, "\"name\": \"\xff\"", "name", "UTF-8"},
	{`"name": "x"`, `"name": "\ud800"`, "name", "surrogate"},
	{`"k": "v"`, `"k": 7`, "vars.k", ""},
	{`"k": "v"`, `"k": "v", "k": "w"`, "vars.k", "duplicate"},
	{`"name": "x"`, `'name': "x"`, "", ""},
	{`"name": "x"`, `"name": "x" // here`, "", ""},
	{`"name": "x"`, `"name": "x",,`, "", ""},
	{good, "", "", "empty"},
	{good, " \n", "", "empty"},
	{good, "null", "", "null"},
	{"}\n", "}{}", "", "more after the end"},
	{"}\n", "}\x00", "", "more after the end"},
	{"}}\n", "}", "", "cut off"},
	{`"v"}}` + "\n", `"v`, "", "cut off"},
	{good, "\ufeff" + good, "", ""},
	{good, strings.Repeat("[", 1<<20), "", ""},
}

// newer are replacements of the version in good. DecodeVersion must report them as errors.
var newer = []struct{ old, new, field, what string }{
	{`"schema": 2`, `"schema": 3`, "schema", "is 3, want 2"},
	{`"schema": 2`, `"schema": 1`, "schema", "is 1, want 2"},
	{`"schema": 2`, `"schema": 3, "more": 1`, "schema", "is 3, want 2"},
	{`"schema": 2`, `"schema": 0`, "schema", "is 0, want 2"},
	{`"schema": 2`, `"schema": -1`, "schema", "is -1"},
	{`"schema": 2`, `"schema": 1.5`, "schema", "is 1.5"},
	{`"schema": 2`, `"schema": 1e0`, "schema", "is 1e0"},
	{`"schema": 2`, `"schema": 99999999999999999999999`, "schema", "is 99999999999999999999, want"},
	{`"schema": 2`, `"schema": "1"`, "schema", "not a number"},
	{`"schema": 2`, `"scheme": 1`, "schema", "is missing"},
	{good, "[]", "", "not a JSON object"},
	{good, "7", "", "not a JSON object"},
	{good, "{}", "schema", "missing"},
}

func TestUnexpectedJSONIsRefused(t *testing.T) {
	plain := func(data []byte) error { return Decode(data, new(file)) }
	version := func(data []byte) error { return DecodeVersion(data, new(file), 2) }
	for name, decode := range map[string]func([]byte) error{"Decode": plain, "DecodeVersion": version} {
		tests := bad
		if name != "Decode" {
			tests = append(tests, newer...)
		}
		for _, test := range tests {
			assert.Assert(t, is.Contains(good, test.old), "good")
			err := decode([]byte(strings.Replace(good, test.old, test.new, 1)))
			var wrong *Error
			if !errors.As(err, &wrong) || test.field != "" && wrong.Field != test.field || !strings.Contains(wrong.What, test.what) {
				t.Errorf("%s, %.60q for %.60q: got %v, want %q at %q", name, test.new, test.old, err, test.what, test.field)
			}
		}
		assert.Check(t, decode([]byte(good)), "%s of good", name)
	}
}

// FuzzDecode checks that no input causes a panic. Accepted input must be decoded as by the standard
// library, and if it is encoded again, the result must be accepted.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(good))
	for _, test := range slices.Concat(bad, newer) {
		if len(test.new) < 1<<10 {
			f.Add([]byte(strings.Replace(good, test.old, test.new, 1)))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var strict, loose file
		err := Decode(data, &strict)
		if DecodeVersion(data, new(file), 2) == nil && err != nil {
			t.Fatalf("DecodeVersion accepts it, Decode does not: %v", err)
		}
		var wrong *Error
		if err != nil {
			assert.Assert(t, errors.As(err, &wrong), "got error %v, want an *Error", err)
			assert.Assert(t, wrong.What != "", "got error %v, want an *Error", err)
			return
		}
		if err := json.Unmarshal(data, &loose); err != nil || !reflect.DeepEqual(strict, loose) {
			t.Fatalf("got %+v, the standard library %+v, %v", strict, loose, err)
		}
		// A nil list would be encoded as null, which this program never writes.
		again, err := json.Marshal(map[string]any{"schema": strict.Schema, "name": strict.Name})
		err = errors.Join(err, Decode(again, new(file)))
		assert.NilError(t, err, "%s: %v", again, err)
	})
}

func TestErrorsNameTheField(t *testing.T) {
	err := Decode([]byte(`{"a":{"b":[0,{"c d":null}]}}`), new(any))
	assert.Check(t, is.Equal(fmt.Sprint(err), "a.b[1].c d: is null; a value is required"))
}
