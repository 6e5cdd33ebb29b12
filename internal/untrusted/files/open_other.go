//go:build !unix

package files

// On Windows pipes are no files, and links take privileges to make; a link that
// takes a file's place is noticed because it is another file.
const dontFollow, dontWait = 0, 0
