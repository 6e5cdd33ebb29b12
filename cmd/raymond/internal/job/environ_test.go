package job

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
)

// jobEnvironment lists variables of a job. Agents and scripts get only the variables that are marked with +.
const jobEnvironment = `
+PATH=/bin +HOME=/h +LANG=C +LC_ALL=C +TMPDIR=/t +HTTPS_PROXY=p +no_proxy=n +SSL_CERT_FILE=f +CI=true
+RUNNER_OS=Linux +RUNNER_TEMP=/r +RUNNER_TRACKING_ID=github_x +GITHUB_ACTIONS=true +GITHUB_REPOSITORY=o/r +GITHUB_SHA=0 +GITHUB_REF=r
+GITHUB_EVENT_NAME=e +GITHUB_EVENT_PATH=p +GITHUB_SERVER_URL=s +GITHUB_API_URL=a +GITHUB_RUN_ID=1 +GITHUB_ACTOR=ann +GITHUB_WORKSPACE=/w
+RAYMOND_CLAUDE=/c +RAYMOND_STATE=S.md +NAMED=1
-ACTIONS_RUNTIME_TOKEN=t -ACTIONS_RESULTS_URL=u -ACTIONS_CACHE_URL=u -ACTIONS_ID_TOKEN_REQUEST_TOKEN=t -ACTIONS_ID_TOKEN_REQUEST_URL=u
-ACTIONS_ANYTHING=x -INPUT_WORKFLOW=w -INPUT_STATE-KEY=k -GITHUB_OUTPUT=o -GITHUB_ENV=e -GITHUB_PATH=p -GITHUB_STATE=s -GITHUB_STEP_SUMMARY=s
-RAYMOND_STATE_KEY=k -RAYMOND_VAR_ITEM=i -ANTHROPIC_API_KEY=sk -CLAUDE_CODE_OAUTH_TOKEN=oat -GITHUB_TOKEN=ghs -GH_TOKEN=ghs -STATE_x=y
-NODE_OPTIONS=x -LD_PRELOAD=x -BASH_ENV=x -GIT_CONFIG_COUNT=1 -JAVA_HOME=/j -DEPLOY_KEY=x -path=/evil -AWS_SECRET_ACCESS_KEY=x -SystemRoot=C
-ANTHROPIC_MODEL=m -GOOGLE_APPLICATION_CREDENTIALS=g`

func TestEnvironmentIsAnAllowList(t *testing.T) {
	var environ, want []string
	for _, entry := range strings.Fields(jobEnvironment) {
		environ = append(environ, entry[1:])
		if entry[0] == '+' {
			want = append(want, entry[1:])
		}
	}
	assert.Check(t, is.DeepEqual(ScriptEnviron(environ, []string{"NAMED", "ABSENT"}), want), "scripts")
	assert.Check(t, is.DeepEqual(agentEnviron("linux", protocol.BackendClaude, environ, []string{"NAMED"}), want), "agents")
	got := ScriptEnviron(environ, []string{"GITHUB_TOKEN", "JAVA_HOME", "GITHUB_OUTPUT", "ANTHROPIC_API_KEY"})
	for entry, want := range map[string]bool{"GITHUB_TOKEN=ghs": true, "JAVA_HOME=/j": true, "GITHUB_OUTPUT=o": false, "ANTHROPIC_API_KEY=sk": false} {
		assert.Check(t, is.Equal(slices.Contains(got, entry), want), "named %s: got %q, want it there: %v", entry, got, want)
	}
}

func TestProvidersReachOnlyTheAgentCLI(t *testing.T) {
	all := "AWS_REGION=a AWS_SECRET_ACCESS_KEY=b ANTHROPIC_BEDROCK_BASE_URL=c CLOUD_ML_REGION=d ANTHROPIC_VERTEX_PROJECT_ID=e " +
		"GOOGLE_APPLICATION_CREDENTIALS=f ANTHROPIC_FOUNDRY_RESOURCE=g ANTHROPIC_AUTH_TOKEN=h ANTHROPIC_CUSTOM_HEADERS=i ANTHROPIC_MODEL=j " +
		"ANTHROPIC_API_KEY=k CLAUDE_CODE_OAUTH_TOKEN=l CLAUDE_CONFIG_DIR=m"
	for on, want := range map[string]string{
		"":                           "CLAUDE_CONFIG_DIR=m",
		"CLAUDE_CODE_USE_BEDROCK=":   "CLAUDE_CONFIG_DIR=m",
		"CLAUDE_CODE_USE_BEDROCK=0":  "CLAUDE_CONFIG_DIR=m",
		"CLAUDE_CODE_USE_BEDROCK=1":  "AWS_REGION=a AWS_SECRET_ACCESS_KEY=b ANTHROPIC_BEDROCK_BASE_URL=c ANTHROPIC_MODEL=j CLAUDE_CONFIG_DIR=m CLAUDE_CODE_USE_BEDROCK=1",
		"CLAUDE_CODE_USE_VERTEX=yes": "CLOUD_ML_REGION=d ANTHROPIC_VERTEX_PROJECT_ID=e GOOGLE_APPLICATION_CREDENTIALS=f ANTHROPIC_MODEL=j CLAUDE_CONFIG_DIR=m CLAUDE_CODE_USE_VERTEX=yes",
		"CLAUDE_CODE_USE_FOUNDRY=1":  "ANTHROPIC_FOUNDRY_RESOURCE=g ANTHROPIC_MODEL=j CLAUDE_CONFIG_DIR=m CLAUDE_CODE_USE_FOUNDRY=1",
		"ANTHROPIC_BASE_URL=http://": "ANTHROPIC_AUTH_TOKEN=h ANTHROPIC_CUSTOM_HEADERS=i ANTHROPIC_MODEL=j CLAUDE_CONFIG_DIR=m ANTHROPIC_BASE_URL=http://",
	} {
		environ := append(strings.Fields(all), strings.Fields(on)...)
		assert.Check(t, is.DeepEqual(agentEnviron("linux", protocol.BackendClaude, environ, nil), strings.Fields(want)), "%q", on)
		assert.Check(t, is.Len(ScriptEnviron(environ, nil), 0), "%q, scripts", on)
	}
}

// TestAgentsGetNothingOfOtherVendors checks that an agent CLI gets neither credentials nor URLs of other
// vendors.
func TestAgentsGetNothingOfOtherVendors(t *testing.T) {
	environ := strings.Fields("ANTHROPIC_BASE_URL=a ANTHROPIC_AUTH_TOKEN=b CLAUDE_CODE_USE_BEDROCK=1 AWS_SECRET_ACCESS_KEY=c CLAUDE_CONFIG_DIR=d " +
		"OPENAI_API_KEY=e OPENAI_BASE_URL=f CODEX_HOME=g CODEX_API_KEY=h " +
		"GEMINI_API_KEY=i GOOGLE_API_KEY=j GOOGLE_GEMINI_BASE_URL=k GOOGLE_GENAI_USE_VERTEXAI=true GOOGLE_APPLICATION_CREDENTIALS=l GEMINI_CLI_HOME=m")
	for backend, want := range map[string]string{
		protocol.BackendClaude:  "ANTHROPIC_BASE_URL=a ANTHROPIC_AUTH_TOKEN=b CLAUDE_CODE_USE_BEDROCK=1 AWS_SECRET_ACCESS_KEY=c CLAUDE_CONFIG_DIR=d",
		protocol.BackendCodex:   "OPENAI_BASE_URL=f CODEX_HOME=g",
		protocol.BackendGemini:  "GOOGLE_GEMINI_BASE_URL=k GOOGLE_GENAI_USE_VERTEXAI=true GOOGLE_APPLICATION_CREDENTIALS=l GEMINI_CLI_HOME=m",
		protocol.BackendCommand: "",
	} {
		assert.Check(t, is.DeepEqual(append([]string{}, agentEnviron("linux", backend, environ, nil)...), strings.Fields(want)), backend)
	}
}

// TestWindowsTakesNamesInAnyCase checks that names of variables may have any case on Windows, and that
// programs there get the additional variables that they need.
func TestWindowsTakesNamesInAnyCase(t *testing.T) {
	environ := strings.Fields("Path=p SystemRoot=r ComSpec=c ProgramFiles(x86)=x APPDATA=a http_proxy=h Named=n Input_X=i Github_Env=e =C:=C:\\ Other=o")
	want := strings.Fields("Path=p SystemRoot=r ComSpec=c ProgramFiles(x86)=x APPDATA=a http_proxy=h Named=n")
	assert.Check(t, is.DeepEqual(agentEnviron("windows", protocol.BackendClaude, environ, []string{"NAMED"}), want), "windows")
}
