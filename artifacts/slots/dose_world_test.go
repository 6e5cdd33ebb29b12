//go:build world

package slots_test

// everyFault selects the faults that TestStoreSurvivesEveryFault tries: all of them.
const everyFault = 1
