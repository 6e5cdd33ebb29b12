# A called state: it knows only its input, not its caller.

set -eu
read -r n total <<<"$RAYMOND_INPUT"

if ((total != n * (n + 1) / 2)); then
	echo "1 + 2 + ... + $n can't be $total" >&2
	exit 1
fi

# This state has a caller, which gets the result.
echo "<result>1 + 2 + ... + $n = $total, and $n * $((n + 1)) / 2 is the same</result>"
