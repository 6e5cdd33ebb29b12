// Package diagram draws a workflow as a Mermaid flowchart, with the path that a
// run took if there is one. It knows the states and the events of a run, not where
// they come from. It writes only the Mermaid that GitHub renders.
package diagram
