// Package diagram draws a workflow as a Mermaid flowchart, and on it the way
// that a run took. It knows the states and the events of a run, not where they
// come from: texts in, one text out. What GitHub renders, and nothing newer, is
// the dialect it writes.
package diagram
