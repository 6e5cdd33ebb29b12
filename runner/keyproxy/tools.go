package keyproxy

import (
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// tool is an entry in a request's list of tools. It maps the names of the entry's fields to their values.
type tool map[string]jsontext.Value

// maxGroupDepth is how deeply groups of tools may be nested. It is small because a tool is parsed again for
// each group that contains it.
const maxGroupDepth = 3

// tools finds the tools that the vendor would run in a request's list of tools, and adds their names to
// r.VendorTools. The list may contain groups of tools, nested to a depth of at most the parameter groups.
func (f RequestFields) tools(r *Request, v jsontext.Value, groups int) error {
	// Some APIs accept a single object instead of a list.
	if v.Kind() == '{' {
		v = slices.Concat(jsontext.Value("["), v, jsontext.Value("]"))
	}
	var all []tool
	if json.Unmarshal(v, &all) != nil || groups < 0 {
		return fmt.Errorf("tools: the request is not forwarded, because an entry is not an object or the groups are nested too deeply")
	}
	for _, t := range all {
		if of := t["tools"]; of != nil { // the entry is a group
			if err := f.tools(r, of, groups-1); err != nil {
				return err
			}
		}
		r.VendorTools = append(r.VendorTools, f.vendorNames(t)...)
	}
	return nil
}

// datePattern matches the date at the end of a tool's type.
var datePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`_20\d{6}$`) })

// vendorNames returns the names, as in the input api-tools, of the tools that the vendor would run for an
// entry. It returns nil if the client runs the tool.
func (f RequestFields) vendorNames(t tool) (names []string) {
	kind := datePattern().ReplaceAllString(text(t["type"]), "")
	hasSchema := t["input_schema"] != nil || t["parameters"] != nil
	switch {
	case len(f.ClientTools) > 0 && (t["type"] == nil && hasSchema || slices.Contains(f.ClientTools, kind)):
		return nil
	case kind == "shell" && isLocal(t["environment"]):
		return nil
	case t["type"] != nil:
		return []string{kind}
	}
	for name := range t {
		if name != "functionDeclarations" && name != "function_declarations" {
			names = append(names, name)
		}
	}
	return names
}

// isLocal reports whether a shell tool's environment is the client's machine.
func isLocal(environment jsontext.Value) bool {
	var e tool
	return json.Unmarshal(environment, &e) == nil && text(e["type"]) == "local"
}

// AllowsTool reports whether the vendor of an agent CLI may run a tool for agents. name is the tool's name in
// the API. If the proxy has no key for the CLI, it can't prevent the tool call, so the result is true.
func (p *Proxy) AllowsTool(backend, name string) bool {
	return p == nil || !p.HasKey(backend) || p.options.IsOpen && slices.Contains(p.options.Tools, name)
}

// check returns an error if a request would make the vendor do something for an agent that the agent may
// not do itself. Unknown fields that are allowed are only logged.
func (a *Account) check(r Request) error {
	p := a.proxy
	for _, name := range r.VendorTools {
		if !a.proxy.AllowsTool(a.vendor.api.Backend(), name) {
			return fmt.Errorf("%.60q is run by the API, outside of the cage, and is not forwarded; the input api-tools allows it if the input network is open", name)
		}
	}
	switch {
	case p.options.IsOpen:
		for _, field := range r.UnknownFields {
			p.logOnce(fmt.Sprintf("requests have the unknown field %.60q, which is forwarded", field))
		}
	case r.Fetches != "":
		return fmt.Errorf("%.60q would make the API fetch something, outside of the cage, and is forwarded only if the input network is open", r.Fetches)
	case len(r.UnknownFields) > 0:
		return fmt.Errorf("the unknown field %.60q is forwarded only if the input network is open", r.UnknownFields[0])
	}
	return nil
}
