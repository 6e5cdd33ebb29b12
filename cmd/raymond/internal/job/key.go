package job

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// workflowFolder is where GitHub keeps workflow files.
const workflowFolder = ".github/workflows/"

// maxIDKey is how much of a key goes into a workflow id: 64 bytes less a hyphen
// and 8 digits.
const maxIDKey = 55

// WorkflowFile returns the file of the workflow that this job belongs to, as the
// REST API names it: ".github/workflows/x.yml", on Gitea "x.yml", and "" where
// the runner doesn't tell.
func WorkflowFile(getenv func(string) string) string {
	// owner/name/.github/workflows/x.yml@refs/heads/main, and a branch may have @ in
	// its name.
	ref, _, _ := strings.Cut(getenv("GITHUB_WORKFLOW_REF"), "@refs/")
	if i := strings.Index(ref, "/"+workflowFolder); i >= 0 {
		file, _, _ := strings.Cut(ref[i+1:], "@")
		return file
	}
	if name := getenv("GITHUB_WORKFLOW"); onGitea(getenv) && workflowNames.MatchString(name) {
		return workflowPath(getenv, name)
	}
	return ""
}

// workflowPath is how the forge names a workflow file.
func workflowPath(getenv func(string) string, base string) string {
	if onGitea(getenv) {
		return base
	}
	return workflowFolder + base
}

// DefaultKey is the key of a run that was given none: what it is about, by the
// workflow file and the issue, the pull request, or the branch or tag.
func DefaultKey(getenv func(string) string, e Event) string {
	name := workflowStem(getenv)
	switch {
	case e.Number != 0:
		return fmt.Sprintf("%s-%s-%d", name, e.Kind, e.Number)
	case getenv("GITHUB_REF_NAME") != "":
		return name + "-" + getenv("GITHUB_REF_NAME")
	}
	return name
}

// workflowStem is the workflow file without folder and ending or, where only
// the workflow's name is known, that as a file could be called.
func workflowStem(getenv func(string) string) string {
	stem := path.Base(WorkflowFile(getenv))
	if stem == "." {
		stem = harmless(getenv("GITHUB_WORKFLOW"))
	}
	for _, ending := range []string{".yml", ".yaml"} {
		stem = strings.TrimSuffix(stem, ending)
	}
	return firstText(stem, "workflow")
}

var unusual = regexp.MustCompile(`[^A-Za-z0-9._]+`)

// harmless replaces what names of files had better not have.
func harmless(s string) string { return strings.Trim(unusual.ReplaceAllString(s, "-"), "-.") }

var unfitForID = regexp.MustCompile(`[^a-z0-9]+`)

// WorkflowID makes a workflow id of a key and eight hexadecimal digits. It always
// matches [a-z0-9][a-z0-9-]{0,63}, whatever the key is.
func WorkflowID(key, hex8 string) string {
	name := unfitForID.ReplaceAllString(strings.ToLower(key), "-")
	name = strings.TrimLeft(name, "-")
	name = strings.TrimRight(name[:min(len(name), maxIDKey)], "-")
	return firstText(name, "run") + "-" + hex8
}
