package shell

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/state"
)

// TestSecretsAreRedactedInTails checks secrets that are inside the tail, at its edge, or cut off by
// it. It also checks outputs that become short because they contain many secrets.
func TestSecretsAreRedactedInTails(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long secret ", 500) + "end" // longer than a tail
	lines := "first-line-of-it\nsecond-line-of-it\nthird"
	v := Verifier{Env: append(verifying.Env, "LONG_SECRET="+long, "PRIVATE_KEY="+lines, "A_TOKEN=prefix-0123", "B_TOKEN=prefix-0123-and-more")}
	values := []string{secret, "token-" + secret, long, lines, "prefix-0123", "prefix-0123-and-more"}
	for _, value := range values {
		for _, after := range []int{0, 1, 4090, 4095, 4096, 4097, 4096 - len(value)/2, 4096 - len(value) + 1, 4096 - len(value), 8192 - len(value)/2, 8191} {
			for _, before := range []int{0, 3, 20_000} {
				after := max(0, after)
				text := strings.Repeat(".", before) + value + strings.Repeat("z", after)
				wantNoSecret(t, v.Env, fmt.Sprintf("%.12q… of %d bytes between %d and %d others", value, len(value), before, after), text)
			}
		}
		wantNoSecret(t, v.Env, fmt.Sprintf("%.12q… a thousand times", value), strings.Repeat(value, 1000))
		wantNoSecret(t, v.Env, fmt.Sprintf("%.12q… on a thousand lines", value), strings.Repeat(value+"\n", 1000))
	}
	for n := range 50 { // vary the length, so that the tail begins at each byte of a login
		text := strings.Repeat("https://user:hunter2-hunter2-hunter2@host ", 1000) + strings.Repeat("z", n)
		wantNoSecret(t, v.Env, fmt.Sprintf("logins and %d others", n), text)
	}
}

// wantNoSecret checks that the tail of an output contains no piece of a secret, and that the tail
// is the end of the output.
func wantNoSecret(t *testing.T, env []string, what, text string) {
	t.Helper()
	output := newTail()
	fmt.Fprint(output, text)
	var r state.CommandResult
	r.Tail, r.Truncated = end(output, env, secrets.NewRedactor(env).Text)
	// Not even eight bytes of a secret may remain.
	for _, part := range []string{"s3cr3t-0", "0123456789", "secret l", "ong secr", "of it", "-of-it", "irst-lin", "prefix-0", "-0123-an", "and-more", "hunter2-"} {
		assert.Check(t, !strings.Contains(r.Tail, part), "%s: got %q in the tail %.200q", what, part, r.Tail)
	}
	dropped := len(text) > len(r.Tail) && !strings.Contains(text, "secret")
	if len(r.Tail) > 4096 || len(text) <= 4096 && r.Truncated && !dropped || len(text) > 100_000 && !r.Truncated {
		t.Errorf("%s: got a tail of %d bytes of %d, truncated %v", what, len(r.Tail), len(text), r.Truncated)
	}
	assert.Check(t, !strings.HasSuffix(text, "zzzz") || strings.HasSuffix(r.Tail, "zzzz"), "%s: got %.200q, want the end of the output", what, r.Tail)
}
