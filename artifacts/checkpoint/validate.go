package checkpoint

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// The patterns are compiled at first use, because most starts of the program don't need them.
var (
	hashForm    = text.Regexp(`^[0-9a-f]{64}$`)
	commitForm  = text.Regexp(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	sessionForm = text.Regexp(`^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$`)
	driveForm   = text.Regexp(`^[A-Za-z]:[\\/]`)
)

// checker collects the first error in a manifest.
type checker struct{ err *Invalid }

// want records an error about the field named by at if ok is false.
func (c *checker) want(ok bool, at, what string, args ...any) {
	if !ok && c.err == nil {
		c.err = &Invalid{errorPath(manifestName, at), fmt.Sprintf(what, args...)}
	}
}

// validate returns an *Invalid for the first value in the manifest that this program never writes.
func (m *Manifest) validate() error {
	c := &checker{}
	c.want(m.Schema == Schema, "schema", "is %d, want %d", m.Schema, Schema)
	c.want(state.ValidID(m.WorkflowID), "workflow_id", "%q is not a workflow id", m.WorkflowID)
	if m.Part != nil {
		err := m.Part.Validate()
		c.want(err == nil, "part", "%v", err)
	}
	c.want(m.Generation >= 1, "generation", "is %d, want at least 1", m.Generation)
	c.want(m.Status.IsKnown(), "status", "%q is unknown", m.Status)
	c.want(slices.Contains([]string{"", "issue", "pr"}, m.Kind), "kind", "%q is unknown", m.Kind)
	c.want(m.Checkout == "" || commitForm().MatchString(m.Checkout), "checkout", "%q is not a full commit hash", m.Checkout)
	c.want(!m.Created.IsZero(), "created", "is missing")
	c.want(isAbsolute(m.Dirs.Workspace), "places.workspace", "%q is not an absolute path", m.Dirs.Workspace)
	c.want(isAbsolute(m.Dirs.Temp), "places.temp", "%q is not an absolute path", m.Dirs.Temp)
	for i, l := range m.Omissions {
		c.want(l.What == "transcripts" || l.What == "workspace", fmt.Sprintf("left_out[%d].what", i), "%q is unknown", l.What)
		c.want(causes[l.Why] != "", fmt.Sprintf("left_out[%d].why", i), "%q is unknown", l.Why)
	}
	last := ""
	for i, f := range m.Files {
		at := fmt.Sprintf("files[%d]", i)
		err := CheckName(f.Name)
		c.want(err == nil, at+".name", "%q: %v", f.Name, err)
		c.want(f.Name > last, at+".name", "%q is listed twice or out of order", f.Name)
		c.want(f.Size >= 0 && f.Size <= entryLimit(f.Name), at+".size", "is %d, want 0 to %d", f.Size, entryLimit(f.Name))
		c.want(hashForm().MatchString(f.SHA256), at+".sha256", "is not a SHA-256 in hex")
		last = f.Name
	}
	// Each transcript must have a file, and each transcript file must be listed as a transcript. One without the
	// other can't be restored.
	dirs := map[string]bool{}
	for i, t := range m.Transcripts {
		at := fmt.Sprintf("transcripts[%d]", i)
		c.want(sessionForm().MatchString(t.Session), at+".session", "%q is not a lower-case UUID", t.Session)
		c.want(isAbsolute(t.Dir), at+".dir", "%q is not an absolute path", t.Dir)
		c.want(protocol.IsBackend(t.Backend), at+".backend", "%q is not an agent CLI", t.Backend)
		c.want(t.CLIID == "" || state.ValidSession(t.CLIID), at+".cli_id", "%q is not a session id", t.CLIID)
		name := t.Name()
		c.want(!dirs[name], at+".session", "%q is listed twice", t.Session)
		c.want(slices.ContainsFunc(m.Files, func(f File) bool { return f.Name == name }), at, "%q is not among the files", name)
		dirs[name] = true
	}
	for i, f := range m.Files {
		c.want(dirs[f.Name] || !strings.HasPrefix(f.Name, transcripts), fmt.Sprintf("files[%d]", i),
			"%q is not among the transcripts", f.Name)
	}
	if c.err != nil {
		return c.err
	}
	return nil
}

// isAbsolute reports whether a path is absolute on Unix or on Windows.
func isAbsolute(p string) bool {
	rooted := strings.HasPrefix(p, "/") || strings.HasPrefix(p, `\\`) || driveForm().MatchString(p)
	return rooted && utf8.ValidString(p) && !strings.ContainsRune(p, 0)
}
