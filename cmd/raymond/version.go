package main

import "runtime/debug"

// version is set by the build of a release, see .ci/release.
var version string

// shownVersion returns the version that the program prints: the release, or else the version of the module that go install
// has built.
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
