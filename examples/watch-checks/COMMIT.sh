# Commits what the agent left in the work tree: each round is a commit on top of the last one.
# raymond: targets=PUSH.sh

set -eu
if [ "${GITHUB_ACTIONS:-}" != true ]; then
	echo "this is no job: nothing is committed" >&2
	echo "<goto>PUSH.sh</goto>"
	exit
fi

git add --all -- :/ ':(top,exclude).github' # which is not pushed, and would make one commit of all
if ((RAYMOND_VISITS == 1)) && git diff --cached --quiet HEAD; then
	echo "<result>The agent changed nothing outside of .github.</result>"
	exit
fi
# Even if the agent changed nothing after checks that failed: the round counts, and they run once more.
git -c user.name='github-actions[bot]' -c user.email='41898282+github-actions[bot]@users.noreply.github.com' \
	-c commit.gpgSign=false commit --quiet --no-verify --allow-empty --message "Work of raymond in workflow run ${RAYMOND_VAR_RUN:-0}"
echo "<goto>PUSH.sh</goto>"
