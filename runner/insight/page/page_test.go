package page

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func written(t testing.TB, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, fixtures[name]()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPagesOfTheFixtures: each has what programs may rely on.
func TestPagesOfTheFixtures(t *testing.T) {
	for name, report := range fixtures {
		page := string(written(t, name))
		if !strings.Contains(page, `id="timeline"`) || !strings.Contains(page, `<input type="search"`) {
			t.Errorf("%s: want a timeline and a search", name)
		}
		sections, bars := map[string]bool{}, map[string]bool{}
		for _, m := range sectionOrBar.FindAllStringSubmatch(page, -1) {
			if m[1] != "" {
				sections[m[1]] = true
			} else {
				bars[m[2]] = true
			}
		}
		for _, e := range report().Executions {
			if n := fmt.Sprint(e.N); !sections[n] || !bars[n] {
				t.Errorf("%s: want a section and a bar of execution %s", name, n)
			}
		}
	}
}

var sectionOrBar = regexp.MustCompile(`<section[^>]* id="e(\d+)"|<a[^>]* href="#e(\d+)"`)
