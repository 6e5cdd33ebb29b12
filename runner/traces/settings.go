package traces

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/state"
)

// settings are the settings in OpenTelemetry's environment variables: where to send spans, and how.
type settings struct {
	url         string
	headers     map[string]string
	timeout     time.Duration // maximum duration of one request
	tls         *tls.Config   // nil means that the certificates of the system are trusted
	hasContents bool          // whether to export the inputs of tools
	parent      state.SpanRef // span of another program that started this process; may be the zero value
	isAlwaysOn  bool          // whether to export a trace even if its parent is not sampled
	note        string        // a note for the user about an unsupported setting; may be empty
}

// environ is the environment of a process. If it contains a variable several times, the last value
// counts.
type environ []string

// get returns the value of a variable without white space around it, or "" if it is not set.
func (e environ) get(name string) string {
	return strings.TrimSpace(program.Variable(e, name))
}

// otlp returns a setting of the OTLP exporter. The variable that is only for traces takes
// precedence over the general variable.
func (e environ) otlp(name string) string {
	if value := e.get("OTEL_EXPORTER_OTLP_TRACES_" + name); value != "" {
		return value
	}
	return e.get("OTEL_EXPORTER_OTLP_" + name)
}

// isOff reports whether no traces are exported with this environment.
func (e environ) isOff() bool {
	exporter := e.get("OTEL_TRACES_EXPORTER")
	return e.otlp("ENDPOINT") == "" || strings.EqualFold(e.get("OTEL_SDK_DISABLED"), "true") ||
		e.get("OTEL_TRACES_SAMPLER") == "always_off" || exporter != "" && !strings.Contains(exporter, "otlp")
}

// settings reads the variables. If a variable is invalid, the error names it, but does not contain
// its value if that may be secret.
func (e environ) settings() (*settings, error) {
	s := &settings{
		timeout:     10 * time.Second,
		hasContents: strings.EqualFold(e.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"), "true"),
	}
	s.parent, _ = state.ParseTraceparent(e.get(runner.TraceparentVar))
	switch p := e.otlp("PROTOCOL"); p {
	case "", "http/json":
	case "http/protobuf": // at this URL, collectors accept JSON as well
		s.note = "OTEL_EXPORTER_OTLP_PROTOCOL is \"http/protobuf\": spans are sent as http/json, the only protocol that this program speaks"
	default:
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q: this program only speaks http/json", p)
	}
	if text := e.otlp("TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms <= 0 {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT is %q; expected a number of milliseconds", text)
		}
		s.timeout = time.Duration(ms) * time.Millisecond
	}
	switch sampler := e.get("OTEL_TRACES_SAMPLER"); sampler {
	case "", "parentbased_always_on":
	case "always_on":
		s.isAlwaysOn = true
	default:
		return nil, fmt.Errorf("OTEL_TRACES_SAMPLER is %q: this program only knows always_on, parentbased_always_on and always_off", sampler)
	}
	var errs [3]error
	s.url, errs[0] = e.url()
	isWhole := false
	if s.headers, isWhole = pairs(e.otlp("HEADERS")); !isWhole {
		errs[1] = errors.New("OTEL_EXPORTER_OTLP_HEADERS is not a comma-separated list of name=value")
	}
	s.tls, errs[2] = e.tls()
	return s, errors.Join(errs[:]...)
}

// pairs parses a comma-separated list of "name=value", in which values are percent-encoded. It
// skips malformed pairs; isWhole is false if it skipped a pair.
func pairs(list string) (all map[string]string, isWhole bool) {
	all, isWhole = map[string]string{}, true
	for pair := range strings.SplitSeq(list, ",") {
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); ok && name != "" && err == nil {
			all[name] = value
		} else if strings.TrimSpace(pair) != "" {
			isWhole = false
		}
	}
	return all, isWhole
}

// url returns the URL to which spans are sent.
func (e environ) url() (string, error) {
	name, suffix := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", ""
	if e.get(name) == "" {
		name, suffix = "OTEL_EXPORTER_OTLP_ENDPOINT", "/v1/traces"
	}
	u, err := url.Parse(e.get(name))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", errors.New(name + " is not an http:// or https:// URL")
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + suffix
	return u.String(), nil
}

// tls returns a TLS configuration that trusts the certificates in the configured file. It returns
// nil if no file is configured.
func (e environ) tls() (*tls.Config, error) {
	ca := e.otlp("CERTIFICATE")
	if ca == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	if !cfg.RootCAs.AppendCertsFromPEM(pem) {
		return nil, errors.New("OTEL_EXPORTER_OTLP_CERTIFICATE names a file without a certificate")
	}
	return cfg, nil
}
