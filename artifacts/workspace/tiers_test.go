//go:build !world

package workspace_test

// seeds is the number of random agents per kind of checkout in TestWorkIsRestoredExactly.
const seeds = 1

// everyCase selects every n-th case of long tables.
const everyCase = 3

// everyMoment selects every n-th moment in TestCrashAnywhere.
const everyMoment = 15
