// Package mermaidtest reads Mermaid flowcharts with Mermaid itself, for tests.
// Package.json and package-lock.json pin it, and jsdom, without which it does
// not run outside of a browser. See Read.
package mermaidtest
