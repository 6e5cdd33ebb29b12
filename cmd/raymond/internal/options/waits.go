package options

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
)

// Endless is a Hold without end.
const Endless time.Duration = -1

// AddWaits defines the flags of runs whose agents wait. They are of this process: a
// resume takes nothing of them from the run.
func (o *Options) AddWaits() {
	o.Hold = Endless
	o.Add("hold", "DUR", "how long to stay for a time that agents wait for, when nothing else is left to do (default: until it comes, but 5m for the end of a usage limit; 0: suspend at once)", func(s string) (err error) {
		o.Hold, err = duration(s)
		return err
	})
	o.Add("job", "LIST", "run only the states of these jobs, separated by commas; others wait for their job (default: the states of all jobs)", func(s string) error {
		for name := range strings.SplitSeq(s, ",") {
			name = strings.TrimSpace(name)
			if !protocol.IsJobName(name) {
				return errors.New("want names of up to 64 letters, digits, _ and -, beginning with a letter or _, separated by commas")
			}
			if !slices.Contains(o.Jobs, name) {
				o.Jobs = append(o.Jobs, name)
			}
		}
		return nil
	})
}
