# A sub-state: it knows nothing of who called it, only its input.

set -eu
read -r n total <<<"$RAYMOND_INPUT"

if ((total != n * (n + 1) / 2)); then
	echo "1 + 2 + ... + $n can't be $total" >&2
	exit 1
fi

# There is a caller, so this result goes back to it.
echo "<result>1 + 2 + ... + $n = $total, and $n * $((n + 1)) / 2 is the same</result>"
