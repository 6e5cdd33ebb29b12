package job

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
)

// workflowFolder is the folder of workflow files on GitHub.
const workflowFolder = ".github/workflows/"

// maxIDKey is the maximum length of a key in a workflow id. A workflow id has 64 bytes at most, including
// the hyphen and the 8 digits after the key.
const maxIDKey = 55

// WorkflowFile returns the GitHub workflow file of this job, as the REST API names it. That is
// ".github/workflows/x.yml" on GitHub and "x.yml" on Gitea. It returns "" if the runner doesn't provide
// the name.
func WorkflowFile(getenv func(string) string) string {
	file := workflowPart(getenv("GITHUB_WORKFLOW_REF"))
	if i := strings.Index(file, "/"+workflowFolder); i >= 0 {
		return file[i+1:]
	}
	if name := getenv("GITHUB_WORKFLOW"); onGitea(getenv) && isWorkflowName(name) {
		return workflowPath(getenv, name)
	}
	return ""
}

// workflowPath returns the name under which the REST API knows a workflow file.
func workflowPath(getenv func(string) string, base string) string {
	if onGitea(getenv) {
		return base
	}
	return workflowFolder + base
}

// DefaultKey returns the key of a run if the input key is not set. It consists of the names of the
// workflow file and the job, and of the issue, the pull request, or the branch or tag. In a matrix, it
// also contains matrix, the digest of the job's values, so that each job of the matrix has a different
// key. Outside of a matrix, matrix is empty. A dot follows the job's id, which can't contain a
// dot itself.
func DefaultKey(getenv func(string) string, e Event, matrix string) string {
	stem := path.Base(WorkflowFile(getenv))
	if stem == "." {
		stem = strings.Trim(unusual().ReplaceAllString(getenv("GITHUB_WORKFLOW"), "-"), "-.")
	}
	for _, ending := range []string{".yml", ".yaml"} {
		stem = strings.TrimSuffix(stem, ending)
	}
	key := cmp.Or(stem, "workflow")
	if job := getenv("GITHUB_JOB"); job != "" {
		key += "-" + job
	}
	switch ref := getenv("GITHUB_REF_NAME"); {
	case e.Number != 0:
		key += fmt.Sprintf(".%s-%d", e.Kind, e.Number)
	case ref != "":
		key += ".ref-" + ref
	}
	if matrix != "" {
		key += "." + matrix
	}
	return key
}

// matrixDigest returns a short digest of a job's values in a matrix. The digest doesn't depend on the
// order and layout of the JSON text. It is empty outside of a matrix. ok is false if values is not JSON.
func matrixDigest(values string) (digest string, ok bool) {
	if values == "" {
		return "", true
	}
	var v any
	if err := json.Unmarshal([]byte(values), &v); err != nil {
		return "", false
	}
	if m, ok := v.(map[string]any); v == nil || ok && len(m) == 0 {
		return "", true
	}
	same, _ := json.Marshal(v) // sorts the names; can't fail, because v was read from JSON
	return fmt.Sprintf("%x", sha256.Sum256(same))[:8], true
}

// isCalled reports whether the job belongs to a reusable workflow, because its workflow file is not the
// file of the workflow run. file is the job's file as the runner names it, or "" if that is unknown.
func isCalled(getenv func(string) string, file string) bool {
	own, run := workflowPart(file), workflowPart(getenv("GITHUB_WORKFLOW_REF"))
	return own != "" && run != "" && own != run
}

var beforeRef = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^.*?\.ya?ml@`) })

// workflowPart returns the file in a reference like o/r/.github/workflows/x.yml@refs/heads/main.
func workflowPart(ref string) string {
	if file := beforeRef().FindString(ref); file != "" {
		return strings.TrimSuffix(file, "@")
	}
	return ref
}

var unusual = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9._]+`) })

var unfitForID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9]+`) })

// WorkflowID returns a workflow id made from a key and eight hexadecimal digits. The result always
// matches [a-z0-9][a-z0-9-]{0,63}.
func WorkflowID(key, hex8 string) string {
	name := unfitForID().ReplaceAllString(strings.ToLower(key), "-")
	name = strings.TrimLeft(name, "-")
	name = strings.TrimRight(name[:min(len(name), maxIDKey)], "-")
	return cmp.Or(name, "run") + "-" + hex8
}
