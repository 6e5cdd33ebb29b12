// Package installtest installs the programs and npm packages that tests run, in the versions that the
// repository pins. It installs them once per machine in the user's cache directory, even if several
// packages are tested at the same time. Only tests use this package.
package installtest
