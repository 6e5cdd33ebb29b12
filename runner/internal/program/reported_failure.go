package program

import "github.com/raymond-action/raymond-action/runner"

// ReportedFailure returns the failure for an error that a CLI reports. words and the HTTP status of
// the API (0 if unknown) decide its class; text is the message for people.
func ReportedFailure(words string, status int, text string) *runner.Failure {
	f := runner.ClassifyFault(words, status)
	if f.Class == runner.Fatal {
		return Fatal("%s: %s", f.Name, text)
	}
	return &runner.Failure{Class: f.Class, Message: "the agent CLI reports: " + text}
}
