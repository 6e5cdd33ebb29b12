// Package forge is a client for the REST API of a forge: GitHub, GitHub Enterprise Server or Gitea. It
// classifies failed requests (Error, Kind) and decides whether and when to retry them (Retrier). No other
// package does either. The same rules apply to requests to the results service of a job.
//
// # Retries
//
// Two layers are involved in storing a checkpoint, but only the lower layer retries requests:
//
//   - Retrier, in this package, repeats a single request while the service fails, within a Policy.
//     Only Retrier handles Retry-After, rate limits and pauses between requests. It also waits
//     while a service still rejects the name of a deleted artifact.
//   - A store (package cmd/raymond/internal/store), above it, never repeats a request. If it fails to
//     store a checkpoint, it pauses and then stores the run's next, newer state.
//
// Code in two other places looks like a retry but makes a different request. slots.Slots tries another slot
// if a name stays rejected. slots.Claimer reads who owns a claim if the claim's name is already in use.
package forge
