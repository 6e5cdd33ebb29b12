package keyproxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	realKey   = "sk-ant-api03-the-real-key"
	realToken = "sk-ant-oat01-the-real-token"
)

// TestMain plays the proxy of a company, which net/http looks up only once.
func TestMain(m *testing.M) {
	company := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "asked for %s with %s", r.RequestURI, r.Header.Get("X-Api-Key"))
	}))
	os.Setenv("HTTP_PROXY", company.URL)
	os.Exit(m.Run())
}

// seen is what an API got.
type seen struct {
	mu       sync.Mutex // guards requests
	requests []string
}

func (s *seen) note(r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, fmt.Sprintf("%s %s %s%s key=%q auth=%q %s", r.Method, r.RequestURI,
		r.Header.Get("Anthropic-Beta"), r.Header["Accept-Encoding"], r.Header.Get("X-Api-Key"), r.Header.Get("Authorization"), body))
}

func (s *seen) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// api is an upstream that says "pong" unless answer says otherwise.
func api(t testing.TB, answer http.HandlerFunc) (*httptest.Server, *seen) {
	t.Helper()
	s := &seen{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.note(r)
		if answer == nil {
			io.WriteString(w, "pong")
			return
		}
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server, s
}

func start(t testing.TB, o Options) *Proxy {
	t.Helper()
	p, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// at is the address of an invocation that is under way.
func at(p *Proxy) string {
	return strings.TrimPrefix(p.Open("").Env()[0], "ANTHROPIC_BASE_URL=")
}

// plain is a client that adds nothing to a request.
var plain = &http.Transport{DisableCompression: true}

// ask sends what the agent CLI sends, with changes, and returns the response with
// its whole body.
func ask(t testing.TB, p *Proxy, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest("POST", at(p)+"/v1/messages?beta=true", strings.NewReader("ping"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Anthropic-Beta", "a,b")
	r.Header.Set("X-Api-Key", p.credential)
	if change != nil {
		change(r)
	}
	answer, err := plain.RoundTrip(r)
	if err != nil {
		t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	return answer, string(body)
}

// bearer shows the credential as a token.
func bearer(token string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Del("X-Api-Key")
		r.Header.Set("Authorization", "Bearer "+token)
	}
}

func TestCredentialIsReplaced(t *testing.T) {
	for _, c := range []struct {
		key, token string
		asToken    bool
		want       string
	}{
		{realKey, "", false, `key="` + realKey + `" auth=""`},
		{realKey + "\n", realToken, true, `key="` + realKey + `" auth=""`},
		{"", realToken, true, `key="" auth="Bearer ` + realToken + `"`},
		{"", realToken, false, `key="" auth="Bearer ` + realToken + `"`},
	} {
		upstream, got := api(t, nil)
		p := start(t, Options{Upstream: upstream.URL + "/gateway/", APIKey: c.key, OAuthToken: c.token})
		var change func(*http.Request)
		if c.asToken {
			change = bearer(p.credential)
		}
		if answer, body := ask(t, p, change); answer.StatusCode != 200 || body != "pong" {
			t.Errorf("%+v: got %s %q", c, answer.Status, body)
		}
		want := []string{"POST /gateway/v1/messages?beta=true a,b[identity] " + c.want + " ping"}
		if diff := cmp.Diff(want, got.all()); diff != "" {
			t.Errorf("%+v: the API got (-want +got):\n%s", c, diff)
		}
	}
}

// TestOthersAreRefused holds who and what gets nowhere, and is told so in the form
// of the API.
func TestOthersAreRefused(t *testing.T) {
	upstream, got := api(t, nil)
	p := start(t, Options{Upstream: upstream.URL, APIKey: realKey})
	to := func(method, path string) func(*http.Request) {
		return func(r *http.Request) {
			r.Method = method
			u, err := url.Parse(at(p) + path)
			if err != nil {
				t.Fatal(err)
			}
			r.URL = u
		}
	}
	key := func(key string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("X-Api-Key", key) }
	}
	for name, c := range map[string]struct {
		change func(*http.Request)
		status int
		kind   string
	}{
		"no credential":    {func(r *http.Request) { r.Header.Del("X-Api-Key") }, 401, "authentication_error"},
		"empty":            {key(""), 401, "authentication_error"},
		"the real key":     {key(realKey), 401, "authentication_error"},
		"a beginning":      {key(p.credential[:20]), 401, "authentication_error"},
		"empty token":      {bearer(""), 401, "authentication_error"},
		"another token":    {bearer(p.credential + "x"), 401, "authentication_error"},
		"files":            {to("GET", "/v1/files"), 404, "not_found_error"},
		"batches":          {to("POST", "/v1/messages/batches"), 404, "not_found_error"},
		"dots":             {to("GET", "/v1/models/.."), 404, "not_found_error"},
		"dots in the path": {to("POST", "/v1/models/../messages"), 404, "not_found_error"},
		"escaped dots":     {to("GET", "/v1/models/%2e%2e%2ffiles"), 404, "not_found_error"},
		"escaped twice":    {to("GET", "/v1/models/%252e%252e%252ffiles"), 404, "not_found_error"},
		"escaped path":     {to("POST", "/v1/%6dessages"), 404, "not_found_error"},
		"no version":       {to("POST", "/messages"), 404, "not_found_error"},
		"deletion":         {to("DELETE", "/v1/messages"), 404, "not_found_error"},
	} {
		answer, body := ask(t, p, c.change)
		var got struct {
			Type  string
			Error struct{ Type, Message string }
		}
		err := json.Unmarshal([]byte(body), &got)
		if err != nil || answer.StatusCode != c.status || got.Type != "error" || got.Error.Type != c.kind || got.Error.Message == "" {
			t.Errorf("%s: got %s %s, %v, want %d %s", name, answer.Status, body, err, c.status, c.kind)
		}
	}
	if all := got.all(); len(all) > 0 {
		t.Errorf("the API got %q, want nothing", all)
	}
	for _, path := range []string{"/v1/models", "/v1/models?limit=1000", "/v1/models/claude-x-4.5"} {
		if answer, body := ask(t, p, to("GET", path)); answer.StatusCode != 200 || body != "pong" {
			t.Errorf("GET %s: got %s %q", path, answer.Status, body)
		}
	}
}

// TestRequestsInProxyFormAreRefused is what a client sends that takes the key
// proxy for one to the whole network.
func TestRequestsInProxyFormAreRefused(t *testing.T) {
	upstream, got := api(t, nil)
	p := start(t, Options{Upstream: upstream.URL, APIKey: realKey})
	own := strings.TrimPrefix(at(p), "http://"+p.address)
	for line, status := range map[string]string{
		"CONNECT example.com:443 HTTP/1.1": "401", "POST http://example.com/v1/messages HTTP/1.1": "401",
		"GET http://example.com" + own + "/v1/files HTTP/1.1": "404",
	} {
		conn, err := net.Dial("tcp", p.address)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "%s\r\nHost: example.com\r\nX-Api-Key: %s\r\nConnection: close\r\n\r\n", line, p.credential)
		answer, err := io.ReadAll(conn)
		conn.Close()
		if err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 "+status)) || len(got.all()) > 0 {
			t.Errorf("%s: got %q, %v, the API got %q", line, answer, err, got.all())
		}
	}
}

func TestForwardingToItselfEnds(t *testing.T) {
	p := start(t, Options{Upstream: "http://example.com", APIKey: realKey})
	p.upstream.Host = p.address
	if answer, body := ask(t, p, nil); answer.StatusCode != 401 {
		t.Errorf("got %s %q, want 401", answer.Status, body)
	}
}

func TestAnswersPassAsTheyAre(t *testing.T) {
	upstream, _ := api(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "17")
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Accepted", r.Header.Get("Accept-Encoding")+"|"+r.Header.Get("User-Agent"))
		w.WriteHeader(429)
		io.WriteString(w, "\x1f\x8b not looked at")
	})
	p := start(t, Options{Upstream: upstream.URL, APIKey: realKey})
	answer, body := ask(t, p, func(r *http.Request) {
		r.Header.Set("Accept-Encoding", "gzip, br, zstd")
		r.Header.Set("User-Agent", "claude-cli/2")
	})
	h := answer.Header
	got := fmt.Sprint(answer.StatusCode, h["Retry-After"], h["Set-Cookie"], h["Content-Encoding"], h["Accepted"], body)
	if want := "429 [17] [a=1 b=2] [gzip] [identity|claude-cli/2]\x1f\x8b not looked at"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestAnswersAreToldAsTheyCome holds that no piece waits for the next, whatever is
// sent: the API goes on only when the client has what came before.
func TestAnswersAreToldAsTheyCome(t *testing.T) {
	for _, length := range []string{"", "27"} {
		toldAsItComes(t, length)
	}
}

func toldAsItComes(t *testing.T, length string) {
	read := make(chan struct{})
	upstream, _ := api(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if length != "" {
			w.Header().Set("Content-Length", length)
		}
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			http.NewResponseController(w).Flush()
			<-read
		}
	})
	p := start(t, Options{Upstream: upstream.URL, APIKey: realKey})
	r, _ := http.NewRequest("POST", at(p)+"/v1/messages", nil)
	bearer(p.credential)(r)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	for i := range 3 {
		piece := make([]byte, 9)
		if _, err := io.ReadFull(answer.Body, piece); err != nil || string(piece) != fmt.Sprintf("data: %d\n\n", i) {
			t.Fatalf("piece %d: got %q, %v", i, piece, err)
		}
		read <- struct{}{}
	}
}

// lines is a log.
type lines struct {
	mu  sync.Mutex // guards all
	all []string
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}

// closedAddress is one where nobody listens.
func closedAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestUnreachableMayBeTriedAgain(t *testing.T) {
	log := &lines{}
	address := closedAddress(t)
	p := start(t, Options{Upstream: "http://" + address, APIKey: realKey, Log: log.add})
	answer, body := ask(t, p, nil)
	want := `{"type":"error","error":{"type":"api_error","message":"reach the API at ` + address + `: dial tcp ` + address + `: connect: connection refused"}}` + "\n"
	if answer.StatusCode != 502 || body != want {
		t.Errorf("got %s %s\nwant 502 %s", answer.Status, body, want)
	}
	if got := log.text(); !strings.Contains(got, "connection refused") || strings.Contains(got, "\n") {
		t.Errorf("log: got %q, want one line with the cause", got)
	}
}

// TestNothingTellsTheKey holds it for every text that the proxy makes, should an
// operation quote it.
func TestNothingTellsTheKey(t *testing.T) {
	log := &lines{}
	p := start(t, Options{Upstream: "http://" + realKey + ".invalid:1", APIKey: realKey, OAuthToken: realToken, Log: log.add})
	p.tell("key " + realKey + ", token " + realToken)
	recorder := httptest.NewRecorder()
	p.unreachable(recorder, httptest.NewRequest("POST", "/v1/messages", nil), fmt.Errorf("header %q: Bearer %s", realKey, realToken))
	for _, text := range append(p.Env(), log.text(), recorder.Body.String()) {
		if strings.Contains(text, "the-real") {
			t.Errorf("a secret is in %q", text)
		}
	}
	if !strings.Contains(recorder.Body.String(), "Bearer ***") {
		t.Errorf("got %q", recorder.Body)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{
		{},
		{APIKey: " \n"},
		{APIKey: "sk-secret\nX: y"},
		{OAuthToken: "sk-secret\x00"},
		{APIKey: "sk-sécret"},
		{APIKey: "sk", Upstream: "ftp://secret"},
		{APIKey: "sk", Upstream: "https://"},
		{APIKey: "sk", Upstream: "secret"},
		{APIKey: "sk", Upstream: "https://me:secret@host"},
		{APIKey: "sk", Upstream: "https://host/?secret"},
		{APIKey: "sk", Upstream: "https://secret:port"},
	} {
		p, err := Start(o)
		if err == nil {
			p.Close()
			t.Errorf("%+v: got no error", o)
			continue
		}
		if strings.Contains(err.Error(), "secret") || !strings.HasPrefix(err.Error(), "start key proxy: ") {
			t.Errorf("%+v: got %q", o, err)
		}
	}
}
