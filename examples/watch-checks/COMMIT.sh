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

# Rounds are counted by their commits: an agent can't be relied on to count.
subject="Work of raymond in workflow run ${RAYMOND_VAR_RUN:-0}"
rounds() { git log --format=%s | grep -cxF "$subject" || true; }

git add --all
if [ "$(rounds)" = 0 ] && git diff --cached --quiet HEAD; then
	echo "<result>The agent changed nothing.</result>"
	exit
fi
# Even if the agent changed nothing after checks that failed: the round counts, and they run once more.
git commit --quiet --no-verify --allow-empty --message "$subject"
commit=$(git rev-parse --verify HEAD)
round=$(rounds)
where=$(cd "$(git rev-parse --git-common-dir)" && pwd | attribute)
echo "<goto input=\"$commit $round $where\">PUSH.sh</goto>"
