// Package sticky keeps one comment on an issue or a pull request as it should
// be: found again, made when there is none, edited in place, and never a second
// one, whatever becomes of requests and answers.
//
// What is to be done next is decided by pure functions over what is known and
// the time; a Poster does it, beside whoever has something to say. It knows
// nothing of runs and of where the text comes from.
package sticky
