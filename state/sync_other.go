//go:build !unix

package state

// syncDir does nothing where folders can't be synced: the rename itself is
// journaled by the file system.
func syncDir(string) error { return nil }
