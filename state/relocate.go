package state

import "reflect"

// Relocate returns a copy of the run for another machine. where returns the path that a
// directory has there. What agents said, and variables, stay as they are, even if they
// contain paths. The copy shares nothing with r.
func (r *Run) Relocate(where func(string) string) (*Run, error) {
	data, err := r.Encode()
	if err != nil {
		return nil, err
	}
	c, err := Decode(data)
	if err != nil {
		return nil, err
	}
	eachField(reflect.ValueOf(c), "", "", func(v reflect.Value, is, _ string) {
		if (is == "path" || is == "path?") && v.String() != "" {
			v.SetString(where(v.String()))
		}
	})
	return c, nil
}
