//go:build !unix

package journal

// syncDir does nothing on systems that can't sync folders. There, the journal of the file system
// preserves renames.
func syncDir(string) error { return nil }
