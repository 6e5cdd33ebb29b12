# Commits the uncommitted work of the agent: each round is a commit on top of the last one.
# raymond: targets=PUSH.sh

set -eu
if [ "${GITHUB_ACTIONS:-}" != true ]; then
	echo "this is no job: nothing is committed" >&2
	echo "<goto>PUSH.sh</goto>"
	exit
fi

git add --all -- :/ ':(top,exclude).github' # .github is not pushed, and would turn all rounds into one commit
if ((RAYMOND_VISITS == 1)) && git diff --cached --quiet HEAD; then
	echo "<result>The agent changed nothing outside of .github.</result>"
	exit
fi
# Commit even if the agent changed nothing after failed checks: the round counts, and the checks run once more.
git -c user.name='github-actions[bot]' -c user.email='41898282+github-actions[bot]@users.noreply.github.com' \
	-c commit.gpgSign=false commit --quiet --no-verify --allow-empty --message "Work of raymond in workflow run ${RAYMOND_VAR_RUN:-0}"
echo "<goto>PUSH.sh</goto>"
