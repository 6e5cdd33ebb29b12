//go:build !world

package slots_test

// everyFault is how many of the faults of TestEveryFaultOfEveryRequestThatStores there are for
// each that is tried.
const everyFault = 7
