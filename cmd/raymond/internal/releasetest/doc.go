// Package releasetest runs the scripts that make a release, as the release
// workflow does, on this machine: the builds, and tags in repositories that the
// tests make. It is for tests.
package releasetest
