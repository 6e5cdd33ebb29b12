// Package page writes reports as HTML: one file that works from disk, without a network.
//
// The page is whole without its script, which adds search, keys, filters and the choice of a
// theme. Structure that programs may rely on: #timeline with one a[href="#eN"] for each state
// execution, a section with the id eN for each, and an input of the type search that jumps
// to the next match on Enter.
//
// All text of a report comes from strangers. It is escaped by html/template, and a policy in
// the page allows only the style sheet and the script that are part of it, by their hashes.
package page

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"html/template"
	"io"
	"sync"

	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

//go:embed page.css
var style string

//go:embed page.js
var script string

//go:embed page.html
var sources embed.FS

// templates are parsed when the first page is written: most processes write none.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"shown": shown, "span": report.Span, "seconds": report.Seconds, "moment": moment, "clock": clock,
		"lines": lines, "bytes": bytesOf, "class": classOf, "many": state.Count,
	}).ParseFS(sources, "page.html"))
})

// Write writes the page of a report. It needs little memory beyond twice that of the report.
func Write(w io.Writer, r *insight.Report) error {
	printable := state.MapTexts(*r, shown) // of a stranger's text that may be anything
	r = &printable
	out := bufio.NewWriterSize(w, 64<<10)
	top, line, wrong, sums, waited := newHeader(r), newTimeline(r), newTroubles(r), newCosts(r), newWaits(r)
	top.Links = links(wrong, sums, waited)
	writeHead(out, "Run "+top.ID, line.places())
	steps := []struct {
		name string
		data any
	}{
		{"header", top}, {"timeline", line}, {"troubles", wrong}, {"costs", sums}, {"waits", waited}, {"path", newPath(r)},
	}
	for _, s := range steps {
		if err := templates().ExecuteTemplate(out, s.name, s.data); err != nil {
			return err
		}
	}
	open := foldedOut(r)
	for i := range r.Executions {
		if err := templates().ExecuteTemplate(out, "execution", newExecution(&r.Executions[i], open)); err != nil {
			return err
		}
	}
	if err := templates().ExecuteTemplate(out, "end", inOrder(r)); err != nil {
		return err
	}
	fmt.Fprintf(out, "<script>%s</script>\n</body>\n</html>\n", script)
	return out.Flush()
}

// writeHead writes all up to the body, with a policy that allows nothing but the styles
// written here and the script; places are the styles of this page alone. Errors are kept by the
// writer.
func writeHead(w *bufio.Writer, title, places string) {
	policy := fmt.Sprintf("default-src 'none'; style-src '%s' '%s'; script-src '%s'; base-uri 'none'; form-action 'none'",
		hash(style), hash(places), hash(script))
	fmt.Fprintf(w, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>%s</title>
<style>%s</style>
<style>%s</style>
</head>
`, policy, html.EscapeString(title), style, places)
}

// hash names a text in a policy.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
