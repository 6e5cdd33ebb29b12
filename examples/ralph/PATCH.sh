# The command passes. Reports a summary of the changes and, in a job, writes them into a patch, which the workflow file stores.

set -eu
if ! git rev-parse --verify --quiet HEAD >/dev/null; then
	echo "<result>the command passes</result>"
	exit
fi

# With a separate index, git shows new files too, and the real index stays unchanged.
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
export GIT_INDEX_FILE=$work/index
git read-tree HEAD
git add --all -- :/ ':(top,exclude)ralph.patch'

if [ "${GITHUB_ACTIONS:-}" = true ]; then
	git diff --cached --binary HEAD >"$work/patch"
	rm -rf ralph.patch # remove whatever an agent created under this name
	mv "$work/patch" ralph.patch
fi

# An agent chose the file names: none of them may end the tag.
changed=$(git diff --cached --stat HEAD | tr '<>' '()')
echo "<result>the command passes, with these changes:

$changed</result>"
