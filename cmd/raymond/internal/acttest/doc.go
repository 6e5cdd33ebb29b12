// Package acttest runs workflows of GitHub Actions with act, at the version that
// .github/tools/act pins: on this machine itself, without containers and without
// the network. It is for tests.
//
// Each run has a machine of its own: a home folder, below which act keeps the
// workspace and the runner's temporary folder, and an environment that has
// nothing of the test's. Nothing that was started on it outlives the test.
//
// act is no GitHub. Of what tests may trip over: a cancelled job's step is killed
// at once, without the signals and the seconds that GitHub gives; timeout-minutes
// of a job is ignored, that of a step is not; on: filters such as types: are not
// looked at; ref and commit are always those of the repository's HEAD; after one
// failed leg of a matrix the results of all later legs are "failure"; and a
// workflow command whose text has " x::" in it is misunderstood.
package acttest
