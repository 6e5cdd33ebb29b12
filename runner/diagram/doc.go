// Package diagram draws a workflow as a Mermaid flowchart, and the path that a run
// took through it. It knows the states and the events of a run, not where they come
// from. It uses only the part of Mermaid that GitHub renders.
package diagram
