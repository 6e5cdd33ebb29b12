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
	"strings"
	"sync"

	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/state"
)

//go:embed page.css
var style string

//go:embed common.js
var common string

//go:embed page.js
var script string

//go:embed index.js
var indexScript string

//go:embed page.html index.html
var sources embed.FS

// templates are parsed when the first page is written: most processes write none.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"shown": shown, "dollars": dollars, "usd": money, "span": span, "seconds": seconds, "count": count, "moment": moment, "clock": clock,
		"lines": lines, "bytes": bytesOf, "short": shortText, "class": classOf, "many": state.Count, "percent": percent,
		"last": func(list []column) int { return len(list) - 1 },
	}).ParseFS(sources, "*.html"))
})

// Write writes the page of a report. It needs little memory beyond that of the report.
func Write(w io.Writer, r *insight.Report) error {
	out := bufio.NewWriterSize(w, 64<<10)
	top, line, code := newHeader(r), newTimeline(r), common+script
	var places strings.Builder
	line.writePlaces(&places)
	writeHead(out, head{Title: "Run " + top.ID, Places: places.String(), Script: code})
	steps := []struct {
		name string
		data any
	}{
		{"header", top}, {"timeline", line}, {"troubles", newTroubles(r)}, {"costs", newCosts(r)}, {"waits", newWaits(r)}, {"path", newPath(r)},
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
	if err := templates().ExecuteTemplate(out, "end", newAgents(r)); err != nil {
		return err
	}
	writeScript(out, code)
	return out.Flush()
}

// head is what differs between pages in what comes before the body.
type head struct {
	Title  string
	Places string // style rules of this page alone
	Script string // that its end will have
}

// writeHead writes all up to the body, with a policy that allows nothing but the styles
// written here and the script. Errors are kept by the writer.
func writeHead(w *bufio.Writer, h head) {
	policy := fmt.Sprintf("default-src 'none'; style-src '%s' '%s'; script-src '%s'; base-uri 'none'; form-action 'none'",
		hash(style), hash(h.Places), hash(h.Script))
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
`, policy, html.EscapeString(h.Title), style, h.Places)
}

func writeScript(w *bufio.Writer, code string) {
	fmt.Fprintf(w, "<script>%s</script>\n</body>\n</html>\n", code)
}

// hash names a text in a policy.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
