// Package officialtest drives the official JavaScript client of artifacts, so
// that tests can hold ours against it. It is for tests.
package officialtest
