package state

import "reflect"

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
