// Package page writes a report as an HTML page: one file that works offline.
//
// The page is complete without its script, which adds search, keyboard shortcuts, filters and
// themes. Programs may rely on this structure: #timeline has one a[href="#eN"] for each state
// execution, each execution has a section with the id eN, and in an input of type search Enter
// jumps to the next match.
//
// The texts of a report are untrusted. html/template escapes them, and the content security policy
// of the page allows only the page's own style sheets and script, which it identifies by their
// hashes.
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

// templates parses the templates when it is first called, since most processes never write a page.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"shown": shown, "span": report.FormatDuration, "seconds": report.FormatSeconds, "moment": moment, "clock": clock,
		"lines": lines, "bytes": bytesOf, "class": classOf, "many": state.Count,
	}).ParseFS(sources, "page.html"))
})

// view is the data for the template of the page.
type view struct {
	Header     header
	Policy     template.HTMLAttr // content security policy
	Style      template.CSS
	Places     template.CSS // style rules for the offsets and widths in this timeline
	Script     template.JS
	Timeline   timeline
	Troubles   troubles
	Costs      []sums
	Waits      []wait
	Path       path
	Executions iter.Seq[execution] // yields one section at a time, to save memory
	Agents     []report.Agent
}

// Write writes a report as a page. It uses about twice as much memory as the report itself.
func Write(w io.Writer, r *insight.Report) error {
	printable := state.MapTexts(*r, shown) // without invisible characters in untrusted texts
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

// hash returns the hash of a text in the form that a content security policy requires.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
