package program

import "github.com/raymond-action/raymond-action/runner"

// ReportedFailure returns the failure for an error that a CLI reports. The words of the error and the
// API's HTTP status determine the class of the failure. status is 0 if it is unknown. text is the
// message for users.
func ReportedFailure(words string, status int, text string) *runner.Failure {
	f := runner.ClassifyFault(words, status)
	if f.Class == runner.Fatal {
		return Fatal("%s: %s", f.Name, text)
	}
	return &runner.Failure{Class: f.Class, Message: "the agent CLI reports: " + text}
}
