package state

import (
	"reflect"
	"strings"
)

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
