// Package forge is the client of the REST API of a forge: GitHub, GitHub Enterprise Server or Gitea. It
// classifies failed requests (Error, Kind) and decides whether and when to retry them (Retrier). All
// other packages leave both to it. Requests to the results service of a job follow the same rules.
//
// # Retries
//
// Saving a checkpoint passes two layers, but each request is retried in one layer only:
//
//   - Retrier, in this package, repeats a single request while the service fails, within a Policy.
//     Only Retrier handles Retry-After, rate limits and pauses between requests. It also waits
//     while a service still refuses the name of a deleted artifact.
//   - checkpoints.Saver, above it, never repeats a request. If a save fails, the next save, of a
//     newer state of the run, starts after a pause.
//
// Two places look like retries but make different requests: slots.Slots tries another slot when a name
// stays refused, and slots.Claimer reads who owns a claim when the claim's name is already in use.
package forge
