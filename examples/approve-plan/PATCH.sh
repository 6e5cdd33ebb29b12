# Reports a summary of the changes and, in a job, writes them into a patch, which the workflow file stores. Like any
# script that isn't trusted, it is confined as the agent is, so it may run git here. The patch is in the workspace.

set -eu
if ! git rev-parse --verify --quiet HEAD >/dev/null; then
	echo "<result>The plan was carried out.</result>"
	exit
fi

# With a separate index, git shows new files too, and the real index stays unchanged.
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
export GIT_INDEX_FILE=$work/index
git read-tree HEAD
git add --all -- :/ ':(top,exclude)approve-plan.patch'

if [ "${GITHUB_ACTIONS:-}" = true ]; then
	git diff --cached --binary HEAD >"$work/patch"
	rm -rf approve-plan.patch # remove whatever an agent created under this name
	mv "$work/patch" approve-plan.patch
fi

# An agent chose the file names: none of them may end the tag.
changed=$(git diff --cached --stat HEAD | tr '<>' '()')
echo "<result>The plan was carried out, with these changes:

$changed</result>"
