package sitetest

import (
	"os"
	"strconv"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// Dose returns full if the tests are built with the tag world, and little otherwise. Tests use it to
// choose how many moments or orders they try.
func Dose(little, full int) int {
	if isFull {
		return full
	}
	return little
}

// SeedVar is the environment variable that sets the seed of random moments.
const SeedVar = "RAYMOND_TEST_SEED"

// Seed returns the seed for random moments: the value of SeedVar, or one derived from today's date.
func Seed(t testing.TB) uint64 {
	t.Helper()
	if text := os.Getenv(SeedVar); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		assert.NilError(t, err, SeedVar)
		return seed
	}
	return uint64(time.Now().Unix())
}
