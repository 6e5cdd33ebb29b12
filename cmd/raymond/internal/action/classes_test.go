package action_test

import "github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"

// The classes of errors, as the tests name them.
const (
	classRunFailed = problem.ClassRunFailed
	classUsage     = problem.ClassUsage
	classOverLimit = problem.ClassOverLimit
	classConflict  = problem.ClassConflict
	classBadState  = problem.ClassBadState
	classStore     = problem.ClassStore
	classDenied    = problem.ClassDenied
	classWorkflow  = problem.ClassWorkflow
	classRuntime   = problem.ClassRuntime
	classSuspended = problem.ClassSuspended
)

type class = problem.Class

var exitCodes = problem.ExitCodes
