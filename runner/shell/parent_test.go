package shell

import (
	"io"
	"testing"

	"gotest.tools/v3/assert"
)

func TestEndOfStdinTellsThatTheParentIsGone(t *testing.T) {
	stdin, held := io.Pipe()
	gone := ParentGone(stdin)
	// Each write returns when it has been read: twice, so that the first was looked
	// at.
	for range 2 {
		_, err := held.Write([]byte("something"))
		assert.NilError(t, err)
		select {
		case <-gone:
			t.Fatal("the parent is said to be gone while it holds the pipe")
		default:
		}
	}
	held.Close()
	<-gone
	broken, other := io.Pipe()
	other.CloseWithError(io.ErrUnexpectedEOF)
	<-ParentGone(broken)
}
