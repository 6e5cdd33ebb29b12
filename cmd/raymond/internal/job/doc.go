// Package job is the CI side of the Action: everything that it reads from the
// runner that started it (inputs, the event and who caused it, the environment)
// and writes to it (the job log, outputs, the step summary). It takes what comes
// from outside as data: checked before it is used, escaped before it is shown. It
// does not know workflows, runs or agents.
package job
