// Package diagram draws a workflow as a Mermaid flowchart, with or without the path that a run took
// through the workflow. It gets the workflow and the path as data, and reads no files. It only uses
// the Mermaid features that GitHub supports.
package diagram
