//go:build world

package workspace_test

// seeds is the number of random agents that TestWorkIsRestoredExactly runs for each kind of checkout.
const seeds = 20

// everyCase makes tests with long tables test every case.
const everyCase = 1

// everyMoment makes TestCrashAnywhere interrupt restores at every git command.
const everyMoment = 1
