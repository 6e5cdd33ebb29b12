//go:build !failpoint

package state

// failpoint marks a place at which the tests end the process. It does nothing
// in a binary built without the tag "failpoint".
func failpoint(string) {}

// tearing makes Append write a line in two halves, so that a test can cut it.
const tearing = false
