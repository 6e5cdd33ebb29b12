// Package artifacts stores files as artifacts of a workflow run and finds them again.
//
// There are two clients for two services. Runtime uses the results service, which only a running job can
// reach. It stores, deletes and lists artifacts of the current workflow run. Archive uses the REST API,
// which reads the artifacts of every workflow run of a repository. GitHub, GitHub Enterprise Server, Gitea
// and act implement the same protocol with differences. This package works with all of them.
//
// The package depends on neither the meaning of the files nor raymond's workflows. It reads no environment
// variables: the caller passes addresses and tokens.
package artifacts
