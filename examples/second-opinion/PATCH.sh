# Reports a summary of the changes and, in a job, writes them into a patch, which the workflow file stores.

set -eu
changed=
if git rev-parse --verify --quiet HEAD >/dev/null 2>&1; then
	# With a separate index, git shows new files too, and the real index stays unchanged.
	work=$(mktemp -d)
	trap 'rm -r "$work"' EXIT
	export GIT_INDEX_FILE=$work/index
	git read-tree HEAD
	git add --all -- :/ ':(top,exclude)second-opinion.patch'
	if [ "${GITHUB_ACTIONS:-}" = true ]; then
		git diff --cached --binary HEAD >"$work/patch"
		rm -rf second-opinion.patch # remove whatever an agent created under this name
		mv "$work/patch" second-opinion.patch
	fi
	changed=$'\n\n'$(git diff --cached --stat HEAD)
fi

# Agents chose the file names and the words of the reviews: none of them may end the tag.
said=$(<"$RAYMOND_RESULT_FILE")
echo "<result>$(sed 's/</‹/g' <<<"$said$changed")</result>"
