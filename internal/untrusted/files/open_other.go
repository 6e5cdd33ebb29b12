//go:build !unix

package files

// Windows has no pipes in the file system, and creating links there needs privileges. If a link replaces a
// file, open detects it, because the link's target is another file.
const dontFollow, dontWait = 0, 0
