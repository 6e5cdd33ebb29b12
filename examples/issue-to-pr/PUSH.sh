# Pushes the work to the branch raymond/issue-N, in a job without agents. It pushes from a repository that raymond has
# made of the work, without settings, hooks or programs of an agent.
# raymond: job=publish trusted=true work=true targets=PULL_REQUEST.sh

set -eu
say() { echo "$*" >&2; }
onward() { echo "<goto input=\"$(sed 's/&/\&amp;/g; s/"/\&quot;/g; s/</\&lt;/g; s/>/\&gt;/g' <<<"$summary")\">PULL_REQUEST.sh</goto>"; }

summary=$(<"$RAYMOND_RESULT_FILE")
if [ "${GITHUB_ACTIONS:-}" != true ]; then
	say "this is no job: nothing is pushed"
	onward
	exit
fi

issue=${RAYMOND_VAR_ISSUE:-}
[[ $issue =~ ^[0-9]{1,18}$ ]] || { say "meta issue=: \"$issue\" is no number"; exit 1; }
[ -n "${GITHUB_TOKEN:-}" ] || { say "there is no token: the step needs script-env: GITHUB_TOKEN"; exit 1; }
branch=raymond/issue-$issue
url=$GITHUB_SERVER_URL/$GITHUB_REPOSITORY.git
said=$(mktemp)

# git gets the token through its environment, never through arguments, an address or a file.
export LC_ALL=C GIT_TERMINAL_PROMPT=0 GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=http.$url.extraHeader
GIT_CONFIG_VALUE_0="Authorization: Basic $(printf 'x-access-token:%s' "$GITHUB_TOKEN" | base64 | tr -d '\n')"
export GIT_CONFIG_VALUE_0
work() { git -C "$RAYMOND_WORK" "$@" 2>"$said"; }

# Only a refusal by the forge itself means that a permission is missing.
failed() {
	cat "$said" >&2
	case $(<"$said") in
	*'(stale info)'*) say "the branch $branch has changed while this ran: run the job again" ;;
	*'error: 401'* | *'Authentication failed'* | *'could not read Username'*) say "$1: the forge doesn't accept the token" ;;
	*'error: 403'* | *'[remote rejected]'*) say "$1 was refused; the job needs contents: write" ;;
	*) say "$1 did not come about: $GITHUB_SERVER_URL can't be reached or is in trouble; nothing was changed, run the job again" ;;
	esac
	exit 1
}

if [ -s "$RAYMOND_WORK_LACKS" ]; then
	summary+=$'\n\nNot in this branch:\n'$(head -c 4000 "$RAYMOND_WORK_LACKS")
fi
if work diff --quiet HEAD work; then
	echo "<result>Nothing of the work can be pushed. ${summary//</‹}</result>"
	exit
fi

tip=$(work ls-remote "$url" "refs/heads/$branch") || failed "the look at the branch"
tip=${tip%%[[:space:]]*}
if [ -n "$tip" ]; then
	# The branch is from an earlier run, or an earlier try of this state. Commits of other authors stay.
	work fetch --quiet --depth 1 --no-tags "$url" "refs/heads/$branch" || failed "the look at the branch"
	who=$(work log -1 --format=%ce "$tip")
	if [ "$who" != '41898282+github-actions[bot]@users.noreply.github.com' ]; then
		say "the branch $branch has a commit of $who: merge, rename or delete it, then set the label again"
		exit 1
	fi
fi
work push --quiet --force-with-lease="refs/heads/$branch:$tip" "$url" "work:refs/heads/$branch" || failed "the push"
onward
