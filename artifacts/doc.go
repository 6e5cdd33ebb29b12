// Package artifacts stores files as artifacts of a workflow run and finds them again.
//
// There are two services. Runtime is the results service, which only a running job can reach. It
// stores, deletes and lists artifacts of the current workflow run. Archive is the REST API, which reads
// the artifacts of every workflow run of a repository. GitHub, GitHub Enterprise Server, Gitea and act
// speak the same protocol with differences, and this client works with all of them.
//
// The package knows nothing about raymond's workflows and runs, the meaning of the files, or the
// environment: the caller passes addresses and tokens.
package artifacts
