# Commits the uncommitted work of the agents, so that the branch has a commit with a useful message. The payload is
# the summary.
# raymond: targets=PUSH.sh

set -eu
next="<goto input=\"$(sed 's/&/\&amp;/g; s/"/\&quot;/g; s/</\&lt;/g; s/>/\&gt;/g' <<<"$RAYMOND_RESULT")\">PUSH.sh</goto>"
if [ "${GITHUB_ACTIONS:-}" != true ]; then
	echo "this is no job: nothing is committed" >&2
	echo "$next"
	exit
fi

git add --all
if ! git diff --cached --quiet HEAD; then
	git -c user.name='github-actions[bot]' -c user.email='41898282+github-actions[bot]@users.noreply.github.com' \
		-c commit.gpgSign=false commit --quiet --no-verify --message "Work on issue #$RAYMOND_VAR_ISSUE"
fi
if [ "$(git rev-parse --verify HEAD)" = "${GITHUB_SHA:-}" ]; then
	echo "<result>The agents changed nothing. $RAYMOND_RESULT</result>"
	exit
fi
echo "$next"
