package traces

import (
	"maps"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// mostText bounds texts of others in attributes, in bytes.
const mostText = 500

// shown is a text of others as an attribute has it.
func shown(s string) string { return text.Truncate(strings.ToValidUTF8(s, "\uFFFD"), mostText) }

// about describes where the spans come from: the program, and in a job this one. The user's own
// attributes go first.
func about(e environ, version string) resource {
	all := map[string]string{"service.name": "raymond", "service.version": version}
	maps.Copy(all, map[string]string{ // the job, as the conventions for CI/CD and repositories describe it
		"cicd.pipeline.name":         e.get("GITHUB_WORKFLOW"),
		"cicd.pipeline.run.id":       e.get("GITHUB_RUN_ID"),
		"cicd.pipeline.run.url.full": jobURL(e),
		"cicd.pipeline.task.name":    e.get("GITHUB_JOB"),
		"cicd.worker.name":           e.get("RUNNER_NAME"),
		"vcs.repository.url.full":    repositoryURL(e),
		"vcs.ref.head.name":          e.get("GITHUB_REF_NAME"),
		"vcs.ref.head.revision":      e.get("GITHUB_SHA"),
	})
	own, _ := pairs(e.get("OTEL_RESOURCE_ATTRIBUTES")) // without what is spelled wrongly
	if name := e.get("OTEL_SERVICE_NAME"); name != "" {
		own["service.name"] = name
	}
	maps.Copy(all, own)
	var r resource
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] != "" {
			r.Attributes = append(r.Attributes, ofText(name, shown(all[name])))
		}
	}
	return r
}

func repositoryURL(e environ) string {
	server, repository := e.get("GITHUB_SERVER_URL"), e.get("GITHUB_REPOSITORY")
	if server == "" || repository == "" {
		return ""
	}
	return server + "/" + repository
}

// jobURL is the page of the workflow run that the job is part of; "" outside of one.
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

// spent describes what something has cost.
func spent(s state.Spent) []attribute {
	all := []attribute{ofFloat("raymond.cost_usd", dollars(s.USD))}
	if s.Estimated {
		all = append(all, ofBool("raymond.cost_estimated", true))
	}
	if s.Unknown > 0 {
		all = append(all, ofNumber("raymond.cost_unknown", s.Unknown))
	}
	return all
}

// used describes the agent CLI, the model and the tokens of a prompt. The convention counts tokens
// from the cache among those of the input.
func (r *Reporter) used(x *report.Exec) []attribute {
	all := []attribute{
		ofText("raymond.agent_cli", x.Backend), ofText("gen_ai.provider.name", r.options.Providers[x.Backend]), ofText("gen_ai.request.model", shown(x.Model)),
		ofText("raymond.session", x.Mode), ofText("gen_ai.response.model", shown(report.MainModel(x.Models))), ofText("gen_ai.conversation.id", x.SessionID),
	}
	all = slices.DeleteFunc(all, func(a attribute) bool { return a.Value["stringValue"] == "" })
	all = append(all, ofFloat("gen_ai.usage.cost", dollars(x.Spent.USD)), ofNumber("raymond.turns", x.Turns))
	if t := x.Spent.Tokens; t != nil {
		all = append(all,
			ofNumber("gen_ai.usage.input_tokens", t.Input+t.Cached), ofNumber("gen_ai.usage.output_tokens", t.Output),
			ofNumber("gen_ai.usage.cache_read.input_tokens", t.Cached))
	}
	if n := len(x.Refusals); n > 0 {
		all = append(all, ofNumber("raymond.denied", n))
	}
	return all
}

func dollars(u state.USD) float64 { return float64(u) / float64(state.Dollar) }
