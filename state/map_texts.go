package state

import "reflect"

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
