//go:build !unix

package files

// Windows has no pipes in the file system, and creating links there needs privileges. A link that
// replaces a file is detected because it is another file.
const dontFollow, dontWait = 0, 0
