package keyproxy

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestCostFieldsAreFound checks that the fields that determine the cost are found, and that a request is
// rejected if its cost has no known limit.
func TestCostFieldsAreFound(t *testing.T) {
	f := RequestFields{Model: "model", Output: []string{"max", "config.max"}, PriceFactors: []string{"tier", "config.n", "later"}}
	for body, want := range map[string]Request{
		`{"model":"m","max":7}`: {Model: "m", MaxOutput: 7},
		` {"x":{"model":"other","max":1},"y":[{"model":"other"},"model",["max",9]],"config":{"max":5,"n":1},"model":"m","tier":"auto","later":false} `: {Model: "m", MaxOutput: 5},
		`{"config":{"deep":{"n":2}},"list":[{"config":{"n":2}}],"later":null}`:                                                                         {},
	} {
		got, err := f.Read(strings.NewReader(body))
		assert.Check(t, cmp.Equal(got, want) && err == nil, "%s: got %+v, %v, want %+v", body, got, err, want)
	}
	for _, body := range []string{
		``, ` `, `[]`, `"model"`, `{`, `{"model":"m"}{"later":true}`, `{"model":"m"} x`, `{"model":"a","model":"b"}`, `{"x":[{"a":1,"a":2}]}`,
		`{"config":{"n":2}}`, `{"tier":"fast"}`, `{"config":{"n":"2"}}`, `{"config":{"n":"\u0032"}}`, `{"config":{"n":[2]}}`, `{"tier":{"a":"fast"}}`, `{"later":[true]}`, `{"later":true}`, `{"mod\u0065l":"a","model":"b"}`, strings.Repeat(`{"a":`, 20_000),
		strings.Repeat(`[`, 70) + strings.Repeat(`]`, 70), `{"a":` + strings.Repeat(`[`, 70) + strings.Repeat(`]`, 70) + `}`,
	} {
		got, err := f.Read(strings.NewReader(body))
		assert.Check(t, err != nil, "%.40s: got %+v, want it refused", body, got)
	}
}

// TestUnboundedRequestsRunAlone checks that a request is unbounded if it contains media other than
// pictures in fields for pictures, refers to a stored object, or makes the vendor compact the
// conversation.
func TestUnboundedRequestsRunAlone(t *testing.T) {
	f := RequestFields{Pictures: []string{"messages.content.source", "input.image_url"}, StoredObjects: []string{"input.id", "conversation"}}
	const picture, alone = `{"media_type":"image/png","data":"iVBORw0K"}`, "alone"
	for body, want := range map[string]string{
		`{"messages":[{"content":[{"source":` + picture + `},{"text":"iVBORw0K"}]}]}`:                        "1 picture of 10 bytes",
		`{"input":[{"image_url":"data:image/png;base64,iVBORw0K"}]}`:                                         "1 picture of 32 bytes",
		`{"messages":[{"content":[{"text":"data:image/png;base64,iVBORw0K"}]}]}`:                             "",
		`{"messages":[{"source":` + picture + `}],"x":{"content":{"source":null}}}`:                          alone,
		`{"messages":[{"content":[{"source":{"source":` + picture + `}}]}]}`:                                 alone,
		`{"messages":[{"content":[{"source":[` + picture + `]}]}]}`:                                          alone,
		`{"messages":[{"content":{"source":{"media_type":"application/pdf","data":"x"}}}]}`:                  alone,
		`{"messages":[{"content":{"source":{"mimeType":"image/png","mime_type":"video/mp4","data":"x"}}}]}`:  alone,
		`{"input":[{"image_url":"data:application/pdf;base64,x"}]}`:                                          alone,
		`{"input":[{"image_url":"https://x"}]}`:                                                              alone,
		`{"input":[{"file_data":"x"}]}`:                                                                      alone,
		`{"input":[{"id":"msg_1"}]}`:                                                                         alone,
		`{"conversation":{"id":"c"}}`:                                                                        alone,
		`{"context_management":{"edits":[{"type":"compact_20260112"}]}}`:                                     alone,
		`{"context_management":{"edits":[{"type":"clear_thinking_20251015"}]},"conversation":null,"id":"x"}`: "",
	} {
		r, err := f.Read(strings.NewReader(body))
		got := map[bool]string{true: alone}[r.IsUnbounded]
		if r.Pictures > 0 {
			got += fmt.Sprintf("%d picture of %d bytes", r.Pictures, r.PictureBytes)
		}
		assert.Check(t, got == want && err == nil, "%s: got %q, %v, want %q", body, got, err, want)
	}
}

// TestVendorToolsAreRecognized checks that tools that the vendor runs are recognized in every form, and that
// tools that the client runs are not mistaken for them.
func TestVendorToolsAreRecognized(t *testing.T) {
	f := RequestFields{ClientTools: []string{"custom", "function", "namespace", "bash"}, VendorServices: []string{"mcp_servers", "prompt"}, Opaque: []string{"args"}}
	for body, want := range map[string][]string{
		`{"tools":[{"name":"x","input_schema":{}},{"type":"custom","name":"y"},{"type":"function"},{"type":"bash_20250124"},{"parameters":{}}]}`: nil,
		`{"tools":[{"type":"shell","environment":{"type":"local"}},{"functionDeclarations":[{"name":"x"}]},{"function_declarations":[]}]}`:       nil,
		`{"tools":[{"type":"web_search_20250305","name":"web_search"},{"type":"code_execution"}]}`:                                               {"code_execution", "web_search"},
		`{"tools":[{"type":"shell"},{"type":"shell","environment":{"type":"container"}},{"type":"shell","environment":"local"}]}`:                {"shell", "shell", "shell"},
		`{"tools":[{"functionDeclarations":[],"googleSearch":{}}]}`:                                                                              {"googleSearch"},
		`{"tools":[{"type":"namespace","tools":[{"type":"function"},{"type":"mcp"}]}]}`:                                                          {"mcp"},
		`{"input":[{"type":"additional_tools","tools":[{"type":"web_search"}]}]}`:                                                                {"web_search"},
		`{"messages":[{"args":{"tools":[{"type":"web_search"}]}}],"schema":{"tools":{"type":"array"}},"tools":null}`:                             nil,
		`{"tools":{"googleSearch":{}},"x":{"tools":{"type":"mcp","tools":[]}}}`:                                                                  {"googleSearch", "mcp"},
		`{"tools":[{"type":"web_search","tools":[]},{"type":"custom","tools":{"type":"mcp"}}]}`:                                                  {"mcp", "web_search"},
		`{"mcp_servers":[{"url":"https://x"}],"prompt":{"id":"p"},"x":{"prompt":"y"}}`:                                                           {"mcp_servers", "prompt"},
		`{"prompt":"pmpt_1"}`: {"prompt"},
		`{"tools":[{"type":5,"name":"x","input_schema":{}}]}`: {""},
		`{"tools":[{"name":"no schema"}]}`:                    {"name"},
	} {
		got, err := f.Read(strings.NewReader(body))
		slices.Sort(got.VendorTools)
		assert.Check(t, is.DeepEqual(got.VendorTools, want), body)
		assert.Check(t, err, body)
	}
	for _, body := range []string{`{"tools":["web_search"]}`, `{"tools":[[{"type":"web_search"}]]}`, `{"tools":[{"tools":5}]}`, strings.Repeat(`{"tools":[`, 9) + strings.Repeat(`]}`, 9)} {
		got, err := f.Read(strings.NewReader(body))
		assert.Check(t, err != nil, "%s: got %+v, want it refused", body, got)
	}
}

// TestVendorFetchesAreRecognized checks that references to other servers are found everywhere except in
// arguments and schemas. Data that the request itself contains must not be mistaken for a reference.
func TestVendorFetchesAreRecognized(t *testing.T) {
	f := RequestFields{ClientTools: []string{"custom"}, Opaque: []string{"input"}, Known: []string{"messages", "text", "tools"}}
	for body, want := range map[string]Request{
		`{"messages":[{"content":[{"type":"image","source":{"type":"url","url":"https://x/?data"}}]}]}`:      {Fetches: "source.url"},
		`{"messages":[{"content":[{"content":[{"source":{"type":"file","file_id":"f"}}]}]}]}`:                {Fetches: "source.file_id"},
		`{"messages":[{"output":[{"type":"input_image","image_url":"https://x"}]}]}`:                         {Fetches: "output.image_url"},
		`{"messages":[{"image_url":{"url":"HTTPS://x"}},{"image_url":["http://x"]}]}`:                        {Fetches: "image_url.url"},
		`{"messages":[{"file_url":"https://x"},{"fileData":{"fileUri":"gs://x"}}]}`:                          {Fetches: "messages.file_url"},
		`{"messages":[{"parts":[{"file_data":{"file_uri":"https://x"}}]}]}`:                                  {Fetches: "file_data.file_uri"},
		`{"messages":[{"source":{"data":"eA=="}},{"image_url":"data:image/png;base64,eA=="}]}`:               {IsUnbounded: true},
		`{"messages":[{"input":{"source":{"url":"https://x"},"file_id":"f"}},{"url":"x","file_id":null}]}`:   {},
		`{"text":{"format":{"schema":{"properties":{"a":{"default":"x"}},"image_url":"x"}}},"tools":[]}`:     {},
		`{"tools":[{"name":"x","input_schema":{"properties":{"file_id":{"type":"string"}}}}],"mcp":1,"z":2}`: {UnknownFields: []string{"mcp", "z"}},
		`{"messages":[{"cache_control":{"type":"ephemeral","ttl":"1h"},"mcp":1}]}`:                           {CachesForHour: true},
	} {
		got, err := f.Read(strings.NewReader(body))
		want.IsUnbounded = want.IsUnbounded || want.Fetches != ""
		assert.Check(t, cmp.Equal(got, want) && err == nil, "%s: got %+v, %v, want %+v", body, got, err, want)
	}
}

// TestOpenNetworkAllowsVendorTools checks that allowed vendor tools, fetches and unknown fields are forwarded
// only if the network is open. Each unknown field is logged once.
func TestOpenNetworkAllowsVendorTools(t *testing.T) {
	for _, isOpen := range []bool{true, false} {
		upstream, got := api(t, nil)
		var log []string
		p := start(t, Options{
			Vendors: vendors(upstream.URL), Tools: []string{"web_search"}, IsOpen: isOpen,
			Log: func(line string) {
				if strings.Contains(line, "field") {
					log = append(log, line)
				}
			},
		})
		for _, path := range []string{"/v1/messages", "/v1/count"} {
			for body, passes := range map[string]bool{
				`{"uses":["web_search"]}`: isOpen, `{"uses":["web_search","mcp"]}`: false,
				`{"fetches":"source.url"}`: isOpen, `{"unknown":["a","b"]}`: isOpen, `{"unknown":["b"]}`: isOpen, `{}`: true,
			} {
				answer, text := ask(t, p, func(r *http.Request) {
					forAccount(p.Open(toy, "one"))(r)
					r.URL.Path = strings.Replace(r.URL.Path, "/v1/messages", path, 1)
					setBody(r, []byte(body))
				})
				isRefused := answer.StatusCode == 400 && strings.Contains(text, "network")
				assert.Check(t, isRefused != passes, "open: %v: %s of %s: got %s %s", isOpen, body, path, answer.Status, text)
			}
		}
		assert.Check(t, is.Equal(len(got.all()), map[bool]int{true: 10, false: 2}[isOpen]), "open: %v: requests that the API got", isOpen)
		assert.Check(t, is.Equal(len(log), map[bool]int{true: 2}[isOpen]), "open: %v: the log got %q, want each of the fields once", isOpen, log)
	}
}

// TestOnlyKnownHeadersAreForwarded checks that an agent can't use other headers to change a request's
// meaning, its cost or the account that pays for it.
func TestOnlyKnownHeadersAreForwarded(t *testing.T) {
	got := make(chan http.Header, 1)
	upstream, _ := api(t, func(_ http.ResponseWriter, r *http.Request) { got <- r.Header })
	own := vendors(upstream.URL)
	own[0].Headers = []string{"X-Gateway"}
	p := start(t, Options{Vendors: own})
	ask(t, p, func(r *http.Request) {
		for _, name := range []string{"Content-Type", "Content-Encoding", "X-HTTP-Method-Override", "X-Pays", "X-Toy-Version", "X-Gateway"} {
			r.Header.Set(name, "other")
		}
	})
	h := <-got
	h.Del("User-Agent")
	assert.Check(t, is.DeepEqual(h, http.Header{
		"Accept-Encoding": {"identity"}, "Anthropic-Beta": {"a,b"}, "Content-Length": h["Content-Length"], "Content-Type": {"application/json"}, "X-Api-Key": {realKey},
		"X-Gateway": {"other"}, "X-Toy-Version": {"other"},
	}), "headers that the API gets")
}
