# Commits what the agent left in the work tree. What git runs may be the agent's, so it is confined as the agent is.
# raymond: cage=true

set -eu
if [ "${GITHUB_ACTIONS:-}" != true ]; then
	echo "this is no job: nothing is committed" >&2
	echo x >>"$RAYMOND_RESULT_FILE.rounds"
	echo "<goto input=\"none $(wc -l <"$RAYMOND_RESULT_FILE.rounds") none\">PUSH.sh</goto>"
	exit
fi

attribute() { sed 's/&/\&amp;/g; s/"/\&quot;/g; s/</\&lt;/g; s/>/\&gt;/g'; }
git() {
	command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c commit.gpgSign=false \
		-c user.name='github-actions[bot]' -c user.email='41898282+github-actions[bot]@users.noreply.github.com' "$@"
}

git add --all
if ! git diff --cached --quiet HEAD; then
	git commit --quiet --no-verify --message "Work of raymond"
fi
commit=$(git rev-parse --verify HEAD)
if [ "$commit" = "${GITHUB_SHA:-}" ]; then
	echo "<result>The agent changed nothing.</result>"
	exit
fi
# How often checks may fail is counted by commits: an agent can't be relied on to count.
round=$(git log --format=%s | grep -c '^Work of raymond$')
where=$(cd "$(git rev-parse --git-common-dir)" && pwd | attribute)
echo "<goto input=\"$commit $round $where\">PUSH.sh</goto>"
