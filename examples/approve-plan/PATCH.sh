# The work is done. What was changed is said in short and, in a job, kept as a patch that the workflow file stores.
# Like any script that isn't trusted, it is confined as the agent is, and so may run git here; the patch lies in the workspace.

set -eu
if ! git rev-parse --verify --quiet HEAD >/dev/null; then
	echo "<result>The plan was carried out.</result>"
	exit
fi

# With an index of its own, git shows new files too, and the real index stays as it is.
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
export GIT_INDEX_FILE=$work/index
git read-tree HEAD
git add --all -- :/ ':(top,exclude)approve-plan.patch'

if [ "${GITHUB_ACTIONS:-}" = true ]; then
	git diff --cached --binary HEAD >"$work/patch"
	rm -rf approve-plan.patch # whatever an agent has put there
	mv "$work/patch" approve-plan.patch
fi

# Names of files come from an agent: none of them may end the tag.
changed=$(git diff --cached --stat HEAD | tr '<>' '()')
echo "<result>The plan was carried out, with these changes:

$changed</result>"
