//go:build world

package state_test

// walks is how many random runs are tried.
const walks = 200
