// Package forge asks the REST API of a forge: GitHub, GitHub Enterprise Server or
// Gitea. It has the one client of the program, says in one place what an answer
// means (Error, Kind), and decides in one place whether and when a request is made
// again (Calls). The results service of a job is asked by the same rules.
//
// # Retries
//
// A save passes two layers, and neither repeats the work of the other:
//
//   - Calls, here, makes one request again while the service fails, within a Policy.
//     It alone knows of Retry-After, rate limits and pauses between requests. A name
//     that the service still refuses after its delete is also waited for here.
//   - checkpoints.Saver, above it, never repeats a request. A save that failed is over; the
//     next one, of a newer state of the run, begins after a pause.
//
// What looks like a third layer is none: slots.Slots turns to another slot when a name
// stays refused, which is another request, and slots.Claimer looks again whose a claim
// is when its name is taken.
package forge
