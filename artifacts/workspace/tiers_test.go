//go:build !world

package workspace_test

// seeds is the number of random agents that TestWorkIsRestoredExactly runs for each kind of checkout.
const seeds = 1

// everyCase makes tests with long tables test every third case only.
const everyCase = 3

// everyMoment makes TestCrashAnywhere interrupt restores at every 15th git command only, and at fewer bytes.
const everyMoment = 15
