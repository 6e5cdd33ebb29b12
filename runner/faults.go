package runner

import (
	"net/http"
	"regexp"
	"slices"
)

// FaultKind groups faults by what a successful resume needs.
type FaultKind string

// The kinds of faults, with what a resume needs. A fault of the workflow or of the machine has no
// kind.
const (
	FaultOfService      FaultKind = "service"      // time, money, a key, or another vendor's service
	FaultOfConversation FaultKind = "conversation" // a new conversation
	FaultOfAnswer       FaultKind = "answer"       // another answer
	FaultOfTimeout      FaultKind = "timeout"      // more time
	FaultOfExit         FaultKind = "exit"         // another invocation
)

// Fault is a way in which an invocation of an agent CLI can fail, and how the run reacts to that.
type Fault struct {
	Name string // messages of fatal faults begin with the name and a colon
	Kind FaultKind
	// Class decides how the run reacts. It retries after a Transient fault, waits after a Service
	// fault, and suspends itself after a UsageLimit. After a Fatal fault, which would occur again,
	// the agent fails.
	Class           Class
	Words           string // regular expression for error texts of CLIs and APIs; "" matches none
	Statuses        []int  // HTTP statuses with which APIs report this fault
	Remedy          string // what the user must do before a resume; may be ""
	NeedsFileChange bool   // true if Remedy requires a change to files
}

// Faults lists the faults of all agent CLIs. If the words of several faults match, the first of
// them counts.
var Faults = []Fault{
	{Name: "session gone", Kind: FaultOfConversation, Class: Fatal, Words: `No conversation found`},
	{
		Name: "authentication", Kind: FaultOfService, Class: Fatal, Statuses: []int{http.StatusUnauthorized, http.StatusForbidden},
		Words: `authentication_failed|oauth_org_not_allowed|Not logged in|Invalid API key|Failed to authenticate|API key not valid|` +
			`organization has been disabled|access token could not be refreshed|Please log out and sign in again|Missing environment variable`,
		Remedy: "set a valid ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN (OPENAI_API_KEY for Codex, GEMINI_API_KEY for Gemini CLI), or log in with the agent CLI",
	},
	{
		Name: "billing", Kind: FaultOfService, Class: Fatal, Statuses: []int{http.StatusPaymentRequired},
		// "You're out of usage credits · resets 10:28am" is a usage limit, which ends without the
		// user's action.
		Words:  `billing_error|[Cc]redit balance is too low|[Ee]xtra usage is required|[Uu]sage credits required|out of (extra usage|usage credits)[^·]*$|specified API usage limits|insufficient_quota|Quota exceeded\. Check your plan|credits are depleted`,
		Remedy: "add credit or extra usage to the account of the API, or raise its limit",
	},
	{
		Name: "unknown model", Class: Fatal, Statuses: []int{http.StatusNotFound},
		Words:  `model_not_found|issue with the selected model|not supported when using Codex with|[Mm]odel .{0,100}does not exist|ModelNotFoundError`,
		Remedy: "name another model, in {state} where that names one, else by --model", NeedsFileChange: true,
	},
	{
		Name: "prompt too long", Kind: FaultOfConversation, Class: Fatal, Statuses: []int{http.StatusRequestEntityTooLarge},
		Words:  `prompt_too_long|[Pp]rompt is too long|[Rr]equest(_| )too(_| )large|context_(window|length)_exceeded|model's context window|exceeds the context window|input token count .{0,40}exceeds`,
		Remedy: "shorten {state} and its input, or split it into states that lead on by <reset>", NeedsFileChange: true,
	},
	{
		// The API's error names the message of the conversation that is wrong, or a piece of it.
		Name: "conversation refused", Kind: FaultOfConversation, Class: Fatal,
		Words: `\bmessages(: |[.\[]\d)|input\[\d|tool use concurrency|No tool output found|required following item|function (call|response) (turn|parts)|thought_signature|encrypted content`,
	},
	{Name: "the model refused", Kind: FaultOfConversation, Class: Fatal, Words: `violates? our [Uu]sage [Pp]olic|potentially violating`, Remedy: "change {state}", NeedsFileChange: true},
	{
		Name: "output limit", Kind: FaultOfAnswer, Class: Fatal,
		Words: `max_output_tokens|output token maximum|due to token limit`, Remedy: "ask for less at once in {state}", NeedsFileChange: true,
	},
	{Name: "bad request", Kind: FaultOfConversation, Class: Fatal, Words: `invalid_request|image_error`, Remedy: "change {state}", NeedsFileChange: true},
	{Name: "usage limit", Kind: FaultOfService, Class: UsageLimit},
	{Name: "timeout", Kind: FaultOfTimeout, Class: TimedOut},
	{
		// A retry a moment later will not make these connections work. The words come from Node,
		// from Rust, and from the key proxy, which is written in Go.
		Name: "no way to the service", Kind: FaultOfService, Class: Transient,
		Words: `ENOTFOUND|EAI_AGAIN|FailedToOpenSocket|ENETUNREACH|ENETDOWN|EHOSTUNREACH|EHOSTDOWN|ERR_PROXY_TUNNEL|certificate|SSL|_CERT|CERT_|dns error|failed to lookup|` +
			`dial tcp: lookup |no such host|no route to host|network is unreachable|x509: |tls: |HTTP response to HTTPS client`,
	},
	{
		Name: "service failed", Kind: FaultOfService, Class: Service,
		Statuses: []int{http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests},
		Words: `rate_limit|rate limit exceeded|Rate limit reached|[Oo]verloaded|server_error|experiencing high demand|Selected model is at capacity|[Tt]imed out|idle timeout|request timeout|` +
			`[Cc]onnection refused|Connection failed: error sending request|ECONNREFUSED|ConnectionRefused|ECONNRESET|EPIPE|ECONNABORTED|ConnectionClosed|ERR_SOCKET_CLOSED|UND_ERR_|ETIMEDOUT|` +
			`ERR_STREAM_PREMATURE_CLOSE|fetch failed|^terminated`,
	},
	{Name: "other", Kind: FaultOfExit, Class: Transient, Statuses: []int{http.StatusConflict}},
}

// FindFault returns the fault with this name. The boolean is false if no fault has the name.
func FindFault(name string) (Fault, bool) {
	i := slices.IndexFunc(Faults, func(f Fault) bool { return f.Name == name })
	if i < 0 {
		return Fault{}, false
	}
	return Faults[i], true
}

// ClassifyFault returns the fault for an error text and an HTTP status of the API. The status is 0
// if it is unknown. The words of fatal faults take precedence over the status, because the API also
// answers 429 for an account without credit. The status takes precedence over other words.
func ClassifyFault(words string, status int) Fault {
	fits := func(f Fault) bool { return f.Words != "" && regexp.MustCompile(f.Words).MatchString(words) }
	ofStatus := ""
	i := slices.IndexFunc(Faults, func(f Fault) bool { return slices.Contains(f.Statuses, status) })
	switch {
	case i >= 0:
		ofStatus = Faults[i].Name
	case status >= http.StatusInternalServerError:
		ofStatus = "service failed"
	case status >= http.StatusBadRequest:
		ofStatus = "bad request"
	}
	matchers := []func(Fault) bool{
		func(f Fault) bool { return f.Class == Fatal && fits(f) },
		func(f Fault) bool { return f.Name == ofStatus && ofStatus != "service failed" },
		fits,
		func(f Fault) bool { return f.Name == ofStatus },
	}
	for _, match := range matchers {
		if i := slices.IndexFunc(Faults, match); i >= 0 {
			return Faults[i]
		}
	}
	return Faults[len(Faults)-1]
}
