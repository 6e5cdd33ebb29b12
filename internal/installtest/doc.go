// Package installtest installs the programs and npm packages that tests drive, at the versions that
// the repository pins. They go to the user's cache folder once per machine, however many packages
// are tested at a time. The package is for tests only.
// else it installs.
package installtest
