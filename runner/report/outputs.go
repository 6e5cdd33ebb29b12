package report

import "strings"

// output is what a failed script wrote last.
type output struct{ name, text string }

// outputs are those of an execution that are not blank; none for none.
func (x *Exec) outputs() []output {
	var all []output
	if x != nil && strings.TrimSpace(x.Stdout) != "" {
		all = append(all, output{"stdout", x.Stdout})
	}
	if x != nil && strings.TrimSpace(x.Stderr) != "" {
		all = append(all, output{"stderr", x.Stderr})
	}
	return all
}

// why is the reason why the agent failed, without its quotes of the outputs, which are shown beside it.
func (a *Agent) why() string {
	why := a.Error
	for _, one := range a.last.outputs() {
		why, _, _ = strings.Cut(why, "; "+one.name+": ")
	}
	return why
}
