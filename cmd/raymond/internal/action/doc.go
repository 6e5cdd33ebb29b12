// Package action is one use of the Action in a job: its main part, and the part that
// the runner starts at the end of the job.
package action
