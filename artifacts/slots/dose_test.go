//go:build !world

package slots_test

// everyFault selects the faults that TestStoreSurvivesEveryFault tries: one in everyFault.
const everyFault = 7
