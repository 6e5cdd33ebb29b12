package sitetest

import "os"

// FullVar is the variable with which tests that try moments or orders try all of
// them. .ci/run and .ci/contract set it.
const FullVar = "RAYMOND_TEST_FULL"

// Dose returns how much a test does: little, unless FullVar is set.
func Dose(little, full int) int {
	if os.Getenv(FullVar) != "" {
		return full
	}
	return little
}
