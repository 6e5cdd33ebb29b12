package page

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"

	"github.com/raymond-action/raymond-action/runner/insight"
)

// TestPageStructure checks the structure of the page that is documented for programs.
func TestPageStructure(t *testing.T) {
	for name, report := range fixtures {
		page := render(t, report())
		assert.Check(t, is.Contains(page, `id="timeline"`), name)
		assert.Check(t, is.Contains(page, `<input type="search"`), name)
		sections, bars := map[string]bool{}, map[string]bool{}
		for _, m := range sectionOrBar.FindAllStringSubmatch(page, -1) {
			if m[1] != "" {
				sections[m[1]] = true
			} else {
				bars[m[2]] = true
			}
		}
		for _, e := range report().Executions {
			n := fmt.Sprint(e.N)
			assert.Check(t, sections[n] && bars[n], "%s: want a section and a bar of execution %s", name, n)
		}
	}
}

var sectionOrBar = regexp.MustCompile(`<section[^>]* id="e(\d+)"|<a[^>]* href="#e(\d+)"`)

// render returns the page for a report.
func render(t testing.TB, r *insight.Report) string {
	t.Helper()
	var b bytes.Buffer
	assert.NilError(t, Write(&b, r))
	return b.String()
}

// TestGolden compares pages with golden files. The pages contain attempts with messages and
// verdicts, an interrupted attempt with its cost, and a run that waits for an answer. The headline
// of that run contains the question, and the page contains the command that answers it.
func TestGolden(t *testing.T) {
	for _, name := range []string{"five", "attempts", "waits"} {
		_, body, _ := strings.Cut(render(t, recordedReport(name)), "<body>")
		body, _, _ = strings.Cut(body, "<script>")
		assert.Check(t, golden.String(body, name+".html"))
	}
}

// TestLinksShowTheirTarget checks that a URL in the result becomes a link whose text is the
// complete URL, with the host highlighted. No other text must become a link.
func TestLinksShowTheirTarget(t *testing.T) {
	r := &insight.Report{WorkflowID: "w", Status: "completed", Created: epoch}
	r.Result = "see https://github.com/acme/ledger/pull/413, [github](https://evil.example:8443/x?y=1&z=2#f). http://a.example\n" +
		"https://github.com@evil.example/ https://github.com\u202e/ javascript:alert(1) file:///etc/passwd //evil.example data:text/html,x HTTPS://B.example https://x/\"onclick=x"
	page := render(t, r)
	var got []string
	for _, m := range regexp.MustCompile(`<a href="([^"#][^"]*)"([^>]*)>(.*?)</a>`).FindAllStringSubmatch(page, -1) {
		got = append(got, html.UnescapeString(m[1]))
		shown := regexp.MustCompile(`</?b>`).ReplaceAllString(m[3], "")
		assert.Check(t, shown == m[1] && strings.Contains(m[2], "noreferrer") && strings.Contains(m[3], "://<b>"), "got the link %q, want it to show its address and its host, and no other text", m[0])
	}
	want := []string{"https://github.com/acme/ledger/pull/413", "https://evil.example:8443/x?y=1&z=2#f", "http://a.example", "https://github.com/", "https://x/"}
	assert.Check(t, is.DeepEqual(got, want), "links")
}
