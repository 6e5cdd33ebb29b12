// Package job is the CI side of the Action: it reads from the runner (inputs, the event and who
// caused it, the environment) and writes to it (the job log, outputs, the step summary). It
// treats everything from outside as data: checked before use, escaped before it is shown. It does not
// know workflows, runs or agents.
package job
