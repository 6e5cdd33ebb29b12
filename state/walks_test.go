//go:build !world

package state_test

// walks is the number of random runs.
const walks = 8
