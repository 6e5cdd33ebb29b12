// Package job connects the Action to the CI runner. It reads the inputs, the event and who caused it,
// and the environment. It writes the job log, outputs and the step summary. It treats everything from
// outside as data, which is checked before use and escaped before it is shown. The package knows nothing
// about workflows, runs or agents.
package job
