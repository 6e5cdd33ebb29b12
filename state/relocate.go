package state

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
	move := func(path *string) {
		if *path != "" {
			*path = where(*path)
		}
	}
	move(&c.Scope)
	move(&c.Dir)
	if c.Last != nil {
		move(&c.Last.Dir)
	}
	for i := range c.Ended {
		move(&c.Ended[i].Dir)
	}
	for _, a := range c.Agents {
		move(&a.Dir)
		for i := range a.Stack {
			move(&a.Stack[i].Dir)
		}
	}
	return c, nil
}
