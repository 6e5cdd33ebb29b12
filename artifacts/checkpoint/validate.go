package checkpoint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// Compiled when first needed, which most starts of the program never do.
var (
	hashForm    = pattern(`^[0-9a-f]{64}$`)
	commitForm  = pattern(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	sessionForm = pattern(`^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$`)
	driveForm   = pattern(`^[A-Za-z]:[\\/]`)
)

func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// checker remembers the first error of a manifest.
type checker struct{ err *Invalid }

func (c *checker) want(ok bool, at, what string, args ...any) {
	if !ok && c.err == nil {
		c.err = &Invalid{place(manifestName, at), fmt.Sprintf(what, args...)}
	}
}

// validate reports the first value that no manifest of ours has, as an *Invalid.
func (m *Manifest) validate() error {
	c := &checker{}
	c.want(m.Schema == Schema, "schema", "is %d, want %d", m.Schema, Schema)
	c.want(state.ValidID(m.WorkflowID), "workflow_id", "%q is no workflow id", m.WorkflowID)
	if m.Part != nil {
		err := m.Part.Validate()
		c.want(err == nil, "part", "%v", err)
	}
	c.want(m.Generation >= 1, "generation", "is %d, want at least 1", m.Generation)
	c.want(m.Status.IsKnown(), "status", "%q is unknown", m.Status)
	c.want(slices.Contains([]string{"", "issue", "pr"}, m.Kind), "kind", "%q is unknown", m.Kind)
	c.want(m.Checkout == "" || commitForm().MatchString(m.Checkout), "checkout", "%q is no full name of a commit", m.Checkout)
	c.want(!m.Created.IsZero(), "created", "is missing")
	c.want(absolute(m.Dirs.Workspace), "places.workspace", "%q is no absolute path", m.Dirs.Workspace)
	c.want(absolute(m.Dirs.Temp), "places.temp", "%q is no absolute path", m.Dirs.Temp)
	for i, l := range m.Omissions {
		c.want(l.What == "transcripts" || l.What == "workspace", fmt.Sprintf("left_out[%d].what", i), "%q is unknown", l.What)
		c.want(causes[l.Why] != "", fmt.Sprintf("left_out[%d].why", i), "%q is unknown", l.Why)
	}
	last := ""
	for i, f := range m.Files {
		at := fmt.Sprintf("files[%d]", i)
		err := CheckName(f.Name)
		c.want(err == nil, at+".name", "%q: %v", f.Name, err)
		c.want(f.Name > last, at+".name", "%q is there twice, or out of order", f.Name)
		c.want(f.Size >= 0 && f.Size <= entryLimit(f.Name), at+".size", "is %d, want 0 to %d", f.Size, entryLimit(f.Name))
		c.want(hashForm().MatchString(f.SHA256), at+".sha256", "is no SHA-256 in hex")
		last = f.Name
	}
	m.checkTranscripts(c)
	if c.err != nil {
		return c.err
	}
	return nil
}

// checkTranscripts checks that each transcript has its directory and each directory
// its transcript: one without the other can't be restored.
func (m *Manifest) checkTranscripts(c *checker) {
	dirs := map[string]bool{}
	for i, t := range m.Transcripts {
		at := fmt.Sprintf("transcripts[%d]", i)
		c.want(sessionForm().MatchString(t.Session), at+".session", "%q is no UUID in lower case", t.Session)
		c.want(absolute(t.Dir), at+".dir", "%q is no absolute path", t.Dir)
		c.want(protocol.IsBackend(t.Backend), at+".backend", "%q is no agent", t.Backend)
		c.want(t.CLIID == "" || state.ValidSession(t.CLIID), at+".cli_id", "%q is no session id", t.CLIID)
		name := t.Name()
		c.want(!dirs[name], at+".session", "%q is there twice", t.Session)
		c.want(slices.ContainsFunc(m.Files, func(f File) bool { return f.Name == name }), at, "%q is not among the files", name)
		dirs[name] = true
	}
	for i, f := range m.Files {
		c.want(dirs[f.Name] || !strings.HasPrefix(f.Name, transcripts), fmt.Sprintf("files[%d]", i),
			"%q is not among the transcripts", f.Name)
	}
}

// absolute reports whether a path is absolute on Unix or on Windows.
func absolute(p string) bool {
	rooted := strings.HasPrefix(p, "/") || strings.HasPrefix(p, `\\`) || driveForm().MatchString(p)
	return rooted && utf8.ValidString(p) && !strings.ContainsRune(p, 0)
}
