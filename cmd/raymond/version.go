package main

import "runtime/debug"

// version is set by the build of a release, see .ci/release.
var version string

// versionOf is the version that the program tells: that of the release, else of the
// module as go install got it, else of the commit it was built at.
func versionOf(released string, build func() (*debug.BuildInfo, bool)) string {
	if released != "" {
		return released
	}
	info, ok := build()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}
