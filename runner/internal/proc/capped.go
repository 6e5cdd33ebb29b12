package proc

import "io"

// CappedWriter is an io.Writer that passes the first Room bytes on to W, then writes a note that the
// output was truncated, and drops all further bytes. Write never fails.
type CappedWriter struct {
	W io.Writer
	// Room is the number of bytes that may still be written. Write reduces it.
	Room int
}

// Write implements io.Writer.
func (c *CappedWriter) Write(p []byte) (int, error) {
	if c.Room > 0 {
		n := min(len(p), c.Room)
		c.Room -= n
		_, _ = c.W.Write(p[:n])
		if c.Room == 0 {
			_, _ = io.WriteString(c.W, "\n[output truncated]\n")
		}
	}
	return len(p), nil
}
