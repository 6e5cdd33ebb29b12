//go:build !world

package workspace_test

// seeds is the number of random agents that TestWorkIsRestoredExactly runs for each kind of checkout.
const seeds = 1

// everyCase is n if only every n-th case of long tables is tested.
const everyCase = 3

// everyMoment is n if TestCrashAnywhere interrupts restores only at every n-th moment.
const everyMoment = 15
