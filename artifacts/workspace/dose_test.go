//go:build !world

package workspace_test

// seeds is how many agents TestWhatWasThereComesBack has for each kind of checkout.
const seeds = 1

// everyCase is how many cases of a long table there are for each that is tried.
const everyCase = 3

// everyMoment is how many moments of TestCrashAnywhere there are for each that is tried.
const everyMoment = 15
