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
	"errors"
	"fmt"
	"html/template"
	"io"
	"iter"
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
		"shown": shown, "span": report.FormatDuration, "seconds": report.FormatSeconds, "moment": moment, "clock": clock,
		"lines": lines, "bytes": bytesOf, "class": classOf, "many": state.Count,
	}).ParseFS(sources, "page.html"))
})

// view is what the template of the page shows.
type view struct {
	Header     header
	Policy     template.HTMLAttr // allows nothing but the styles and the script of the page
	Style      template.CSS
	Places     template.CSS // the styles of this page alone
	Script     template.JS
	Timeline   timeline
	Troubles   troubles
	Costs      []sums
	Waits      []wait
	Path       path
	Executions iter.Seq[execution] // each made when it is written
	Agents     []report.Agent
}

// Write writes the page of a report. It needs little memory beyond twice that of the report.
func Write(w io.Writer, r *insight.Report) error {
	printable := state.MapTexts(*r, shown) // of a stranger's text that may be anything
	r = &printable
	v := view{
		Header: newHeader(r), Style: template.CSS(style), Script: template.JS(script),
		Timeline: newTimeline(r), Troubles: newTroubles(r), Costs: newCosts(r), Waits: newWaits(r), Path: newPath(r), Executions: executions(r), Agents: inOrder(r),
	}
	places := v.Timeline.places()
	v.Places = template.CSS(places)
	v.Policy = template.HTMLAttr(fmt.Sprintf(`content="default-src 'none'; style-src '%s' '%s'; script-src '%s'; base-uri 'none'; form-action 'none'"`,
		hash(style), hash(places), hash(script)))
	out := bufio.NewWriterSize(w, 64<<10)
	return errors.Join(templates().ExecuteTemplate(out, "page", v), out.Flush())
}

// hash names a text in a policy.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
