package state

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// maxCount is more than any count of a run can reach, and too small for sums to
// overflow.
const maxCount = 1 << 53

// signed are the fields that may be negative: exit codes, where -1 means a
// signal.
var signed = map[string]bool{"agent_code": true, "rc": true}

// amounts are the types with limits of their own.
var amounts = map[reflect.Type]bool{reflect.TypeFor[USD](): true, reflect.TypeFor[Duration](): true}

// checkCounts checks that every number of a run is possible, in whatever field it is.
// A negative count would make the next file unreadable.
func (v validation) checkCounts() {
	events := v.run.Events
	defer func() { v.run.Events = events }()
	v.run.Events = nil // they are only reported again
	v.walk(reflect.ValueOf(v.run).Elem(), "")
}

// walk checks the numbers in v, the value of a field.
func (c *checker) walk(v reflect.Value, at string) {
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		c.want(v.Int() >= 0, at, "is negative")
		c.want(v.Int() <= maxCount || amounts[v.Type()], at, "is %d, more than %d", v.Int(), maxCount)
	case reflect.Pointer:
		if !v.IsNil() {
			c.walk(v.Elem(), at)
		}
	case reflect.Slice:
		for i := range v.Len() {
			c.walk(v.Index(i), fmt.Sprintf("%s[%d]", at, i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			c.walk(v.MapIndex(key), at+"."+key.String())
		}
	case reflect.Struct:
		c.walkFields(v, at)
	}
}

func (c *checker) walkFields(v reflect.Value, at string) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		return
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case !field.IsExported() || signed[name]:
		case field.Anonymous:
			c.walk(v.Field(i), at)
		case at == "":
			c.walk(v.Field(i), name)
		default:
			c.walk(v.Field(i), at+"."+name)
		}
	}
}
