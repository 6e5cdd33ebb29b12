// Package artifacts stores files as artifacts of a workflow run and finds them again.
//
// There are two services. Runtime is the results service that only a running job
// can reach: it alone stores and deletes, and it lists what the present workflow
// run has. Archive is the REST API, which reads the artifacts of every run of a
// repository. GitHub, GitHub Enterprise Server, Gitea and act speak the same
// protocol with differences, and this client works with all of them.
//
// The package knows nothing of workflows or runs of ours, of what the files mean,
// and of the environment: addresses and tokens are given to it.
package artifacts
