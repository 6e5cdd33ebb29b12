# Commits what agents left in the work tree. The payload is the summary.
# What git runs may be theirs, so it is confined as they are.
# raymond: cage=true

set -eu
attribute() { sed 's/&/\&amp;/g; s/"/\&quot;/g; s/</\&lt;/g; s/>/\&gt;/g'; }
summary=$(attribute <<<"$RAYMOND_RESULT")

if [ "${GITHUB_ACTIONS:-}" != true ]; then
	echo "this is no job: nothing is committed" >&2
	echo "<goto input=\"none
$summary\">PUSH.sh</goto>"
	exit
fi

git() {
	command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c commit.gpgSign=false \
		-c user.name='github-actions[bot]' -c user.email='41898282+github-actions[bot]@users.noreply.github.com' "$@"
}

git add --all
if ! git diff --cached --quiet HEAD; then
	git commit --quiet --no-verify --message "Work on issue #$RAYMOND_VAR_ISSUE"
fi
commit=$(git rev-parse --verify HEAD)
if [ "$commit" = "${GITHUB_SHA:-}" ]; then
	echo "<result>The agents changed nothing. $RAYMOND_RESULT</result>"
	exit
fi
echo "<goto input=\"$commit
$summary\">PUSH.sh</goto>"
