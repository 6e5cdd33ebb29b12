package shell

import (
	"io"
	"testing"

	"gotest.tools/v3/assert"
)

// TestEndOfStdinMeansParentIsGone checks that ParentGone reports the end of stdin and a read error,
// but not input.
func TestEndOfStdinMeansParentIsGone(t *testing.T) {
	stdin, writer := io.Pipe()
	gone := ParentGone(stdin)
	// A write to the pipe returns when the data has been read. So when the second write returns,
	// the data of the first one has been handled.
	for range 2 {
		_, err := writer.Write([]byte("something"))
		assert.NilError(t, err)
		select {
		case <-gone:
			t.Fatal("the parent is said to be gone while it holds the pipe")
		default:
		}
	}
	writer.Close()
	<-gone
	broken, other := io.Pipe()
	other.CloseWithError(io.ErrUnexpectedEOF)
	<-ParentGone(broken)
}
