package traces

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/state"
)

// pipeline sends spans that have ended. Its methods are for one goroutine.
type pipeline struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	counter  *counter
	client   *client
	abort    context.CancelFunc // ends all requests
	done     chan struct{}      // closed once all was sent, or given up; nil until close
	ended    int                // spans
}

// newPipeline starts to send spans. A nil transport is that of the settings.
func newPipeline(s *settings, transport http.RoundTripper, about *resource.Resource, version string) (*pipeline, error) {
	ctx, abort := context.WithCancel(context.Background())
	c := newClient(ctx, s, transport)
	exporter, err := otlptrace.New(ctx, c)
	if err != nil {
		abort()
		return nil, err
	}
	p := &pipeline{counter: &counter{to: exporter}, client: c, abort: abort}
	for _, value := range s.headers {
		p.counter.secrets = append(p.counter.secrets, value)
	}
	p.provider = sdk.NewTracerProvider(sdk.WithBatcher(p.counter), sdk.WithResource(about), sdk.WithIDGenerator(given{}))
	p.tracer = p.provider.Tracer("github.com/raymond-action/raymond-action", trace.WithInstrumentationVersion(version))
	return p, nil
}

// start begins a span of the given id below another one, which may be none.
func (p *pipeline) start(of, below state.SpanRef, name string, options ...trace.SpanStartOption) trace.Span {
	ctx := context.WithValue(context.Background(), givenKey{}, contextOf(of))
	if below.Span != "" {
		ctx = trace.ContextWithRemoteSpanContext(ctx, contextOf(below))
	}
	_, span := p.tracer.Start(ctx, name, options...)
	return span
}

// end ends a span, which is then sent.
func (p *pipeline) end(span trace.Span, at time.Time) {
	if span.SpanContext().IsSampled() {
		p.ended++
	}
	span.End(trace.WithTimestamp(at))
}

// close sends what is left, in the background. No span ends after it.
func (p *pipeline) close() {
	if p.done != nil {
		return
	}
	p.done = make(chan struct{})
	close(p.client.closing)
	go func() {
		defer close(p.done)
		_ = p.provider.Shutdown(context.Background()) // the counter knows what went wrong
	}()
}

// wait waits until all was sent after close, for at most so long. It returns a line about what
// did not arrive; "" when all did.
func (p *pipeline) wait(most time.Duration) string {
	select {
	case <-p.done:
	case <-time.After(most):
		p.abort()
		<-p.done
	}
	p.abort()
	arrived, why := p.counter.result()
	if lost := p.ended - arrived; lost > 0 {
		return fmt.Sprintf("traces: %d of %s did not reach the collector: %s", lost, state.Count(p.ended, "span"), why)
	}
	return ""
}

// counter counts the spans that arrive, and keeps the first reason why some did not.
type counter struct {
	to      sdk.SpanExporter
	secrets []string // that the reason must not have

	mu      sync.Mutex
	arrived int
	why     error
}

// ExportSpans implements sdk.SpanExporter. It returns nil whatever happens, since the SDK would
// print an error.
func (c *counter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := c.to.ExportSpans(ctx, spans)
	arrived := len(spans)
	var partly *rejected
	switch {
	case errors.As(err, &partly):
		arrived -= int(min(partly.spans, int64(len(spans))))
	case err != nil:
		arrived = 0
	}
	c.giveUp(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.arrived += arrived
	return nil
}

// Shutdown implements sdk.SpanExporter.
func (c *counter) Shutdown(ctx context.Context) error { return c.to.Shutdown(ctx) }

// giveUp keeps a reason, unless there is one or it is nil.
func (c *counter) giveUp(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == nil {
		c.why = why
	}
}

// result returns how many spans have arrived, and why others have not.
func (c *counter) result() (arrived int, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == nil {
		return c.arrived, "there were too many at once"
	}
	why = strings.TrimPrefix(c.why.Error(), "traces export: ")
	for _, secret := range c.secrets {
		if secret != "" {
			why = strings.ReplaceAll(why, secret, "***")
		}
	}
	return c.arrived, text.Line(text.Shortened(why, 2*mostReason))
}

// given is an IDGenerator that gives spans the ids that they are started with.
type given struct{}

// givenKey is the key of a context's value with the ids of a span that is about to start.
type givenKey struct{}

// NewIDs implements sdk.IDGenerator.
func (given) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	of, _ := ctx.Value(givenKey{}).(trace.SpanContext)
	return of.TraceID(), of.SpanID()
}

// NewSpanID implements sdk.IDGenerator.
func (g given) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	_, id := g.NewIDs(ctx)
	return id
}

// contextOf is a span as the SDK has it.
func contextOf(ref state.SpanRef) trace.SpanContext {
	cfg := trace.SpanContextConfig{Remote: true}
	id, _ := hex.DecodeString(ref.Trace) // valid, or it would be none
	copy(cfg.TraceID[:], id)
	id, _ = hex.DecodeString(ref.Span)
	copy(cfg.SpanID[:], id)
	if ref.Sampled {
		cfg.TraceFlags = trace.FlagsSampled
	}
	return trace.NewSpanContext(cfg)
}
