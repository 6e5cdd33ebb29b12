# Pushes the commit to the branch raymond/checks-N, N being the workflow run that began. This process has the
# token, so git works in a repository made for this, with no configuration but its own, which takes nothing but
# objects from the one of the agent.

set -eu
PATH=/usr/bin:/bin:/usr/local/bin:$PATH
say() { echo "$*" >&2; }

read -r commit round where <<<"$RAYMOND_RESULT"
if [ "${GITHUB_ACTIONS:-}" != true ]; then
	say "this is no job: nothing is pushed"
	echo "<goto input=\"none $round 1\">CHECKS.sh</goto>"
	exit
fi

run=${RAYMOND_VAR_RUN:-}
[[ $run =~ ^[0-9]{1,18}$ ]] || { say "meta run=: \"$run\" is no number"; exit 1; }
[[ $commit =~ ^[0-9a-f]{40,64}$ ]] || { say "\"$commit\" is no commit"; exit 1; }
[[ $round =~ ^[1-9][0-9]{0,2}$ ]] || { say "\"$round\" is no round"; exit 1; }
[[ $where == /* ]] || { say "\"$where\" is no folder"; exit 1; }
[ -n "${PUSH_TOKEN:-}" ] || { say "there is no token: the step needs script-env: PUSH_TOKEN"; exit 1; }
branch=refs/heads/raymond/checks-$run
url=$GITHUB_SERVER_URL/$GITHUB_REPOSITORY.git
next="<goto input=\"$commit $round 1\">CHECKS.sh</goto>"

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
# Nor is anything taken from the home folder: .gitconfig, .netrc.
export HOME=$fresh XDG_CONFIG_HOME=$fresh GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0
git init --quiet --bare --template= "$fresh/push.git"
git init --quiet --bare --template= "$fresh/look.git"
echo "$where/objects" >"$fresh/push.git/objects/info/alternates"
# A checkout has only the newest commit, unless it was told otherwise.
if [ -f "$where/shallow" ]; then
	grep -E '^[0-9a-f]{40,64}$' "$where/shallow" >"$fresh/push.git/shallow" || true
fi

# The token goes to git by its environment: not by arguments, an address or a file.
login=$(printf 'x-access-token:%s' "$PUSH_TOKEN" | base64 | tr -d '\n')
remote() {
	LC_ALL=C GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=http.$url.extraHeader GIT_CONFIG_VALUE_0="Authorization: Basic $login" \
		GIT_CONFIG_KEY_1=credential.helper GIT_CONFIG_VALUE_1= git --git-dir "$fresh/$1.git" "${@:2}"
}

# Only what the forge itself has refused is for want of a permission.
failed() {
	cat "$fresh/said" >&2
	case $(<"$fresh/said") in
	*'! [rejected]'*) say "the branch ${branch#refs/heads/} has a commit that isn't of this run: nothing was changed" ;;
	*'error: 401'* | *'Authentication failed'* | *'could not read Username'*) say "$1: the forge doesn't accept the token" ;;
	*'error: 403'* | *'[remote rejected]'*) say "$1 was refused; the token needs contents: write, and can't change files in .github/workflows" ;;
	*) say "$1 did not come about: $GITHUB_SERVER_URL can't be reached or is in trouble; nothing was changed, run the job again" ;;
	esac
	exit 1
}

remote look ls-remote "$url" "$branch" >"$fresh/tip" 2>"$fresh/said" || failed "the look at the branch"
tip=$(cut -f 1 "$fresh/tip")
if [ "$tip" = "$commit" ]; then
	echo "$next" # a second try of this state
	exit
fi
remote push push --quiet "$url" "$commit:$branch" 2>"$fresh/said" || failed "the push"
echo "$next"
