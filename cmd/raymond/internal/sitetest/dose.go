package sitetest

import (
	"os"
	"strconv"
	"testing"
	"time"
)

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

// KillsVar is the variable that says how many kills at random moments the tests try in
// all. SeedVar is the one with the seed of those moments.
const (
	KillsVar = "RAYMOND_TEST_KILLS"
	SeedVar  = "RAYMOND_TEST_SEED"
)

// Kills returns how many kills at random moments the tests try in all: 200, or what
// KillsVar says.
func Kills() int {
	if n, err := strconv.Atoi(os.Getenv(KillsVar)); err == nil && n > 0 {
		return n
	}
	return Dose(200, 500)
}

// Seed returns the seed of random moments: that of SeedVar, or one of today.
func Seed(t testing.TB) uint64 {
	t.Helper()
	if text := os.Getenv(SeedVar); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", SeedVar, err)
		}
		return seed
	}
	return uint64(time.Now().Unix())
}
