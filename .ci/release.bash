# What the scripts of a release share. They read this file; nobody runs it.
# shellcheck shell=bash disable=SC2034

# The systems that a release has a program for, as Go names them.
systems=(linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64)

# Ends the script unless $1 is the version of a release, or of a candidate for one.
check_version() {
	local number='(0|[1-9][0-9]{0,5})'
	if ! [[ $1 =~ ^v$number\.$number\.$number(-rc\.[1-9][0-9]{0,2})?$ ]]; then
		printf 'version %q: want vX.Y.Z, or vX.Y.Z-rc.N for a candidate\n' "$1" >&2
		exit 2
	fi
}

is_candidate() { [[ $1 == *-rc.* ]]; }

# The name of the program for a system, which cmd/shim/raymond.js looks for.
program() {
	local suffix=
	if [[ $1 == windows/* ]]; then suffix=.exe; fi
	printf 'raymond-%s%s\n' "${1/\//-}" "$suffix"
}

# Every mention of a remote's tags goes through here. Checkouts keep no token;
# gh gives git the one in GH_TOKEN, and a remote that is a folder asks for none.
remote_git() {
	GIT_TERMINAL_PROMPT=0 git -c credential.helper= -c 'credential.helper=!gh auth git-credential' "$@"
}

# Ends the script if the remote has the version's tag: a release is made once.
check_unreleased() {
	local found
	found=$(remote_git ls-remote "$1" "refs/tags/$2")
	if [ -n "$found" ]; then
		printf 'tag %s: is there already, and is never made anew: take the next version\n' "$2" >&2
		exit 1
	fi
}

# Prints checksums, or checks them with -c.
sums() {
	if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi
}
