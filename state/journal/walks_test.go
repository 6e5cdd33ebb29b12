//go:build !world

package journal_test

// walks is the number of random runs that TestFilesEqualMemory makes.
const walks = 8
