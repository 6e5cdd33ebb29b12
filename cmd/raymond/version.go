package main

import "runtime/debug"

// version is the released version. The build of a release sets it; see .ci/release.
var version string

// shownVersion returns the version that the program prints. Without a release, that is the version of the
// module that go install has built.
func shownVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}
