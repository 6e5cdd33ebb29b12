# What was changed is shown in short and, in a job, kept as a patch that the workflow file stores.

set -eu
changed=
if git rev-parse --verify --quiet HEAD >/dev/null 2>&1; then
	# With an index of its own, git shows new files too, and the real index stays as it is.
	work=$(mktemp -d)
	trap 'rm -r "$work"' EXIT
	export GIT_INDEX_FILE=$work/index
	git read-tree HEAD
	git add --all -- :/ ':(top,exclude)second-opinion.patch'
	if [ "${GITHUB_ACTIONS:-}" = true ]; then
		git diff --cached --binary HEAD >"$work/patch"
		rm -rf second-opinion.patch # whatever an agent has put there
		mv "$work/patch" second-opinion.patch
	fi
	changed=$'\n\n'$(git diff --cached --stat HEAD)
fi

# Names of files and the words of reviewers come from agents: none of them may end the tag.
said=$(<"$RAYMOND_RESULT_FILE")
echo "<result>$(sed 's/</‹/g' <<<"$said$changed")</result>"
