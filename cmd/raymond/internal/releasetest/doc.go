// Package releasetest runs the script that builds the files of a release. It is for
// tests; with the tag world they build a release twice.
package releasetest
