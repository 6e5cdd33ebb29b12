// Package installtest puts what tests drive, at the versions that the repository
// pins, into the user's cache folder: once per machine, however many packages
// are tested at a time. It is for tests; it knows npm and node, and nothing of what
// else it installs.
package installtest
