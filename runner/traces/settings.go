package traces

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings say where spans are sent to, and how, as the variables of OpenTelemetry do.
type settings struct {
	url         string
	headers     map[string]string
	timeout     time.Duration // of a request
	compresses  bool
	tls         *tls.Config // nil for that of the system
	hasContents bool        // of tools' inputs
}

// environ is an environment; the last value of a name counts.
type environ []string

// get returns a variable; "" when it is not set.
func (e environ) get(name string) string {
	for _, entry := range slices.Backward(e) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// otlp returns a setting of the exporter, of which the one for traces alone goes first.
func (e environ) otlp(name string) string {
	if value := e.get("OTEL_EXPORTER_OTLP_TRACES_" + name); value != "" {
		return value
	}
	return e.get("OTEL_EXPORTER_OTLP_" + name)
}

// isOff reports whether nobody asks for traces.
func (e environ) isOff() bool {
	exporter := e.get("OTEL_TRACES_EXPORTER")
	return e.otlp("ENDPOINT") == "" || strings.EqualFold(e.get("OTEL_SDK_DISABLED"), "true") || exporter != "" && !strings.Contains(exporter, "otlp")
}

// settings reads the variables. Its error names the one that is wrong, and no value that may
// be secret.
func (e environ) settings() (*settings, error) {
	s := &settings{
		timeout: 10 * time.Second, compresses: e.otlp("COMPRESSION") == "gzip",
		hasContents: strings.EqualFold(e.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"), "true"),
	}
	if p := e.otlp("PROTOCOL"); p != "" && p != "http/protobuf" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q: this program can only send http/protobuf", p)
	}
	if text := e.otlp("TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms <= 0 {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT is %q, want a number of milliseconds", text)
		}
		s.timeout = time.Duration(ms) * time.Millisecond
	}
	var errs [3]error
	s.url, errs[0] = e.url()
	s.headers, errs[1] = e.headers()
	s.tls, errs[2] = e.tls()
	return s, errors.Join(errs[:]...)
}

// url returns where spans are posted to.
func (e environ) url() (string, error) {
	name, suffix := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", ""
	if e.get(name) == "" {
		name, suffix = "OTEL_EXPORTER_OTLP_ENDPOINT", "/v1/traces"
	}
	u, err := url.Parse(e.get(name))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", errors.New(name + " is no URL that begins with http:// or https://")
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + suffix
	return u.String(), nil
}

// headers returns what requests are sent with: "name=value" pairs, separated by commas, with
// percent-encoded values.
func (e environ) headers() (map[string]string, error) {
	all := map[string]string{}
	for pair := range strings.SplitSeq(e.otlp("HEADERS"), ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS is no list of name=value, separated by commas")
		}
		all[name] = value
	}
	return all, nil
}

// tls returns the certificates that the variables name; nil when they name none.
func (e environ) tls() (*tls.Config, error) {
	ca, cert, key := e.otlp("CERTIFICATE"), e.otlp("CLIENT_CERTIFICATE"), e.otlp("CLIENT_KEY")
	if ca == "" && cert == "" && key == "" {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		if cfg.RootCAs = x509.NewCertPool(); !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("OTEL_EXPORTER_OTLP_CERTIFICATE names a file without a certificate")
		}
	}
	if cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and _CLIENT_KEY: %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}
