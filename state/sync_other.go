//go:build !unix

package state

// syncDir does nothing on systems where folders can't be synced: the file system's own journal
// contains the rename.
func syncDir(string) error { return nil }
