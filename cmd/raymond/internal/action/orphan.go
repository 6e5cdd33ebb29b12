package action

import (
	"io"
	"os"
	"sync"

	"github.com/raymond-action/raymond-action/runner/shell"
)

// When the runner dies, nobody sees the step any more, no post part comes, and
// the next job may resume the run: so agents end as on a cancel, and the run
// is stored here, once.

// watchRunner returns a channel that is closed when the runner is gone, and the
// log to write to: a failed write is one of the signs.
func watchRunner(e Env) (<-chan struct{}, io.Writer) {
	gone := make(chan struct{})
	end := sync.OnceFunc(func() { close(gone) })
	out, _ := e.Stdout.(*os.File) // in a job it is one
	signs := []<-chan struct{}{shell.Gone(out)}
	if e.Getenv(shell.ShimStdin) == "1" {
		signs = append(signs, shell.ParentGone(os.Stdin))
	}
	for _, sign := range signs {
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
