# Pushes the work to the branch raymond/checks-N, where N is the first workflow run. It pushes from a repository that
# raymond has made of the work, without settings, hooks or programs of an agent.
# raymond: trusted=true work=true targets=CHECKS.sh

set -eu
say() { echo "$*" >&2; }

if [ "${GITHUB_ACTIONS:-}" != true ]; then
	say "this is no job: nothing is pushed"
	echo "<goto input=\"none $RAYMOND_VISITS 1\">CHECKS.sh</goto>"
	exit
fi

run=${RAYMOND_VAR_RUN:-}
[[ $run =~ ^[0-9]{1,18}$ ]] || { say "meta run=: \"$run\" is no number"; exit 1; }
[ -n "${PUSH_TOKEN:-}" ] || { say "there is no token: the step needs script-env: PUSH_TOKEN"; exit 1; }
branch=raymond/checks-$run
url=$GITHUB_SERVER_URL/$GITHUB_REPOSITORY.git

# git gets the token through its environment, never through arguments, an address or a file.
export LC_ALL=C GIT_TERMINAL_PROMPT=0 GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=http.$url.extraHeader
GIT_CONFIG_VALUE_0="Authorization: Basic $(printf 'x-access-token:%s' "$PUSH_TOKEN" | base64 | tr -d '\n')"
export GIT_CONFIG_VALUE_0

# A second try of this state pushes the same commit, which changes nothing. Only a refusal by the forge itself means
# that a permission is missing.
if ! said=$(git -C "$RAYMOND_WORK" push --quiet "$url" "work:refs/heads/$branch" 2>&1); then
	say "$said"
	case $said in
	*'! [rejected]'*) say "the branch $branch has a commit that isn't of this run: nothing was changed" ;;
	*'error: 401'* | *'Authentication failed'* | *'could not read Username'*) say "the push: the forge doesn't accept the token" ;;
	*'error: 403'* | *'[remote rejected]'*) say "the push was refused; the token needs contents: write" ;;
	*) say "the push did not come about: $GITHUB_SERVER_URL can't be reached or is in trouble; nothing was changed, run the job again" ;;
	esac
	exit 1
fi
if [ -s "$RAYMOND_WORK_LACKS" ]; then
	say "not in the branch $branch:"
	cat "$RAYMOND_WORK_LACKS" >&2
fi
echo "<goto input=\"$(git -C "$RAYMOND_WORK" rev-parse work) $RAYMOND_VISITS 1\">CHECKS.sh</goto>"
