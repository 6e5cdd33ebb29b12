package traces

import (
	"maps"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// maxText is the maximum length in bytes of an attribute whose text comes from users or other programs.
const maxText = 500

// shown converts a text to a valid attribute: it replaces invalid UTF-8, and truncates the text to
// maxText bytes.
func shown(s string) string { return text.Truncate(strings.ToValidUTF8(s, "\uFFFD"), maxText) }

// newResource returns the resource that all spans belong to. Its attributes describe this program
// and, in a CI job, the job. Attributes that the user sets in the environment take precedence.
func newResource(e environ, version string) resource {
	all := map[string]string{"service.name": "raymond", "service.version": version}
	maps.Copy(all, map[string]string{ // names from the semantic conventions for CI/CD and for repositories
		"cicd.pipeline.name":         e.get("GITHUB_WORKFLOW"),
		"cicd.pipeline.run.id":       e.get("GITHUB_RUN_ID"),
		"cicd.pipeline.run.url.full": jobURL(e),
		"cicd.pipeline.task.name":    e.get("GITHUB_JOB"),
		"cicd.worker.name":           e.get("RUNNER_NAME"),
		"vcs.repository.url.full":    repositoryURL(e),
		"vcs.ref.head.name":          e.get("GITHUB_REF_NAME"),
		"vcs.ref.head.revision":      e.get("GITHUB_SHA"),
	})
	userAttrs, _ := pairs(e.get("OTEL_RESOURCE_ATTRIBUTES")) // pairs skips malformed pairs
	if name := e.get("OTEL_SERVICE_NAME"); name != "" {
		userAttrs["service.name"] = name
	}
	maps.Copy(all, userAttrs)
	var r resource
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] != "" {
			r.Attributes = append(r.Attributes, textAttr(name, shown(all[name])))
		}
	}
	return r
}

// repositoryURL returns the URL of the repository, or "" outside a job.
func repositoryURL(e environ) string {
	server, repository := e.get("GITHUB_SERVER_URL"), e.get("GITHUB_REPOSITORY")
	if server == "" || repository == "" {
		return ""
	}
	return server + "/" + repository
}

// jobURL returns the URL of the current GitHub Actions run, or "" outside a job.
func jobURL(e environ) string {
	repository, id, attempt := repositoryURL(e), e.get("GITHUB_RUN_ID"), e.get("GITHUB_RUN_ATTEMPT")
	switch {
	case repository == "" || id == "":
		return ""
	case attempt != "":
		id += "/attempts/" + attempt
	}
	return repository + "/actions/runs/" + id
}

// spent returns the attributes for a cost.
func spent(s state.Spent) []attribute {
	all := []attribute{floatAttr("raymond.cost_usd", dollars(s.USD))}
	if s.Estimated {
		all = append(all, boolAttr("raymond.cost_estimated", true))
	}
	if s.Unknown > 0 {
		all = append(all, intAttr("raymond.cost_unknown", s.Unknown))
	}
	return all
}

// used returns the attributes for the agent CLI, the model and the tokens of a prompt. In
// OpenTelemetry's conventions, the number of input tokens includes cached tokens.
func (r *Reporter) used(x *report.Exec) []attribute {
	all := []attribute{
		textAttr("raymond.agent_cli", x.Backend), textAttr("gen_ai.provider.name", r.options.Providers[x.Backend]), textAttr("gen_ai.request.model", shown(x.Model)),
		textAttr("raymond.session", x.Mode), textAttr("gen_ai.response.model", shown(report.MainModel(x.Models))), textAttr("gen_ai.conversation.id", x.SessionID),
	}
	all = slices.DeleteFunc(all, func(a attribute) bool { return a.Value["stringValue"] == "" })
	all = append(all, floatAttr("gen_ai.usage.cost", dollars(x.Spent.USD)), intAttr("raymond.turns", x.Turns))
	if t := x.Spent.Tokens; t != nil {
		all = append(all,
			intAttr("gen_ai.usage.input_tokens", t.Input+t.Cached), intAttr("gen_ai.usage.output_tokens", t.Output),
			intAttr("gen_ai.usage.cache_read.input_tokens", t.Cached))
	}
	if n := len(x.Refusals); n > 0 {
		all = append(all, intAttr("raymond.denied", n))
	}
	return all
}

// dollars converts a cost to US dollars.
func dollars(u state.USD) float64 { return float64(u) / float64(state.Dollar) }
