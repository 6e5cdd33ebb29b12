package keyproxy

import (
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// tool is an entry of a list of tools.
type tool map[string]jsontext.Value

// mostGroups is how deep tools may be grouped: each group is read once more.
const mostGroups = 3

// tools records which tools of a list the vendor runs. The list may contain up to groups levels of groups.
func (f RequestFields) tools(r *Request, v jsontext.Value, groups int) error {
	if v.Kind() == '{' { // some APIs take one for a list of one
		v = slices.Concat(jsontext.Value("["), v, jsontext.Value("]"))
	}
	var all []tool
	if json.Unmarshal(v, &all) != nil || groups < 0 {
		return fmt.Errorf("tools: a list whose entries are no objects, or are grouped too deeply, is not forwarded")
	}
	for _, t := range all {
		if of := t["tools"]; of != nil { // some are groups
			if err := f.tools(r, of, groups-1); err != nil {
				return err
			}
		}
		r.VendorTools = append(r.VendorTools, f.uses(t)...)
	}
	return nil
}

// dated is the date in the type of a tool.
var dated = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`_20\d{6}$`) })

// uses returns what the vendor runs of a tool, as api-tools names it.
func (f RequestFields) uses(t tool) (names []string) {
	kind := dated().ReplaceAllString(text(t["type"]), "")
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

func isLocal(environment jsontext.Value) bool {
	var e tool
	return json.Unmarshal(environment, &e) == nil && text(e["type"]) == "local"
}

// AllowsTool reports whether the vendor behind an agent CLI may run something for agents, by the name in its API.
// Where no proxy is between the two, nobody keeps it from that.
func (p *Proxy) AllowsTool(backend, name string) bool {
	return p == nil || !p.HasKey(backend) || p.options.IsOpen && slices.Contains(p.options.Tools, name)
}

// check refuses what the vendor would do for an agent that the agent may not do by itself.
func (a *Account) check(r Request) error {
	p := a.proxy
	for _, name := range r.VendorTools {
		if !a.proxy.AllowsTool(a.vendor.api.Backend(), name) {
			return fmt.Errorf("%.60q is run by the API, past every cage, and is not forwarded; the input api-tools names what may be, where the input network is open", name)
		}
	}
	switch {
	case p.options.IsOpen:
		for _, field := range r.UnknownFields {
			p.tellOnce(fmt.Sprintf("requests have the field %.60q, which is not known here, and is forwarded", field))
		}
	case r.Fetches != "":
		return fmt.Errorf("%.60q would have the API fetch something, past every cage, and is not forwarded unless the input network is open", r.Fetches)
	case len(r.UnknownFields) > 0:
		return fmt.Errorf("the field %.60q is not known, and is not forwarded unless the input network is open", r.UnknownFields[0])
	}
	return nil
}
