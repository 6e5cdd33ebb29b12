// Package permit knows by which rules the agent CLI lets a use of a tool pass. It
// is a model, and a careful one: a rule is advised only when the model says that
// it lets the use pass, and the contract tests try what it advises on the real
// CLI, in several versions. It knows nothing of runs, and does nothing.
package permit
