package main

import "runtime/debug"

// version is set by the build of a release, see .ci/release.
var version string

// toldVersion is the version that the program tells: that of the release, else of the
// module as go install got it.
func toldVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}
