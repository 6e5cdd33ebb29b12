package action

import (
	"io"
	"sync"
)

// When the runner dies, nobody sees the step any more, no post part comes, and
// the next job may resume the run: so agents end as on a cancel, and the run
// is stored here, once.

// watchRunner returns a channel that is closed when the runner is gone, and the
// log to write to: a failed write is one of the signs.
func watchRunner(e Env) (<-chan struct{}, io.Writer) {
	gone := make(chan struct{})
	end := sync.OnceFunc(func() { close(gone) })
	for _, sign := range e.Process.Gone(e) {
		go func() {
			<-sign
			end()
		}()
	}
	return gone, &watched{e.Stdout, end}
}

// watched is an output of which a failed write is told.
type watched struct {
	w      io.Writer
	failed func()
}

// Write implements io.Writer.
func (w *watched) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	if err != nil {
		w.failed()
	}
	return n, err
}
