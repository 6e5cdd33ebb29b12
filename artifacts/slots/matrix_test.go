package slots_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
)

// storing are the requests that store a checkpoint.
var storing = []string{"ListArtifacts", "DeleteArtifact", "CreateArtifact", "comp=block&", "comp=blocklist", "FinalizeArtifact"}

// answers are wrong answers of a service. The first one drops the connection.
var answers = []artifactstest.Fault{
	{}, {Status: 400, Body: `{"msg":"bad"}`}, {Status: 401}, {Status: 403, Body: `{"msg":"insufficient usage to create"}`}, {Status: 404}, {Status: 408},
	{Status: 409, Body: `{"msg":"exists"}`}, {Status: 429}, {Status: 429, Header: map[string]string{"Retry-After": "7"}}, {Status: 500}, {Status: 502},
	{Status: 503}, {Status: 504}, {Status: 200, Body: "<html>"}, {Status: 200, Body: `{"ok":tr`}, {Status: 200}, {Status: 200, Body: `{"ok":false}`},
	{Status: 302, Header: map[string]string{"Location": "/twirp/loop"}}, {Status: 200, Header: map[string]string{"Content-Length": "500"}},
}

// TestStoreSurvivesEveryFault checks faults on every service, before or after the request has its
// effect, once or several times. No checkpoint is lost or stored twice, no generation is skipped,
// and each is stored in the end. Once three are stored, at least two exist at any time, unless a
// name is refused. No Store takes more than three minutes.
func TestStoreSurvivesEveryFault(t *testing.T) {
	var cells []func(*testing.T)
	for _, manner := range []string{"github", "gitea", "act"} {
		for _, op := range storing {
			for _, fault := range answers {
				for _, times := range []int{1, 6} {
					for _, after := range []bool{false, true} {
						fault.Op, fault.Times, fault.After = op, times, after
						cells = append(cells, func(t *testing.T) { sufferFault(t, manner, fault) })
					}
				}
			}
		}
	}
	for i, cell := range cells {
		if i%everyFault == 0 {
			cell(t)
		}
	}
}

func sufferFault(t *testing.T, manner string, fault artifactstest.Fault) {
	t.Helper()
	isSilent := manner != "github" && fault.Op == "FinalizeArtifact" && fault.After // without a digest
	if isSilent || manner == "act" && fault.Op == "ListArtifacts" && fault.Status == 0 {
		return // the service can't list its artifacts
	}
	s := artifactstest.New(t)
	manners[manner](s)
	var waited time.Duration
	sleep := func(ctx context.Context, d time.Duration) error { waited += d; return ctx.Err() }
	stored := 0 // generations, each once and without gaps
	s.OnChange = func(all []artifactstest.Artifact) {
		if newest := generationOf(all[len(all)-1]); newest != stored {
			assert.Check(t, is.Equal(newest, stored+1), "%s, %+v", manner, fault)
			stored = newest
		}
		assert.Check(t, len(all) >= min(stored, 3)-1 || fault.Status == 409, "%s, %+v: %d artifacts stand after %d were stored", manner, fault, len(all), stored)
	}
	rotated := slotsOf(waitingRuntime(t, s, 7, sleep))
	const last = 7
	tries := 0
	for g := 1; g <= last && tries < 3*last; tries++ {
		if g == 5 && tries == 4 {
			s.Fail(fault)
		}
		if waited = 0; store(t.Context(), rotated, g) == nil {
			g++
		}
		assert.Check(t, waited <= 3*time.Minute, "%s, %+v: waited for %v, want at most three minutes", manner, fault, waited)
	}
	s.OnChange = nil
	// A delete that succeeds but reports an error costs the third artifact.
	if got := generations(s); !slices.Equal(got, []int{5, 6, 7}) && !slices.Equal(got, []int{6, 7}) {
		t.Errorf("%s, %+v: generations %v stand after %d tries, want the last ones, once each", manner, fault, got, tries)
	}
}
