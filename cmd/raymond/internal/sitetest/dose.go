package sitetest

import (
	"os"
	"strconv"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// Dose returns how much a test does that tries many moments or orders: little, or full in
// tests with the tag world.
func Dose(little, full int) int {
	if isFull {
		return full
	}
	return little
}

// SeedVar is the variable with the seed of random moments.
const SeedVar = "RAYMOND_TEST_SEED"

// Seed returns the seed of random moments: that of SeedVar, or one of today.
func Seed(t testing.TB) uint64 {
	t.Helper()
	if text := os.Getenv(SeedVar); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		assert.NilError(t, err, SeedVar)
		return seed
	}
	return uint64(time.Now().Unix())
}
