# The check is the workflow's own, not the agent's word: the command given with
# --meta check='...', run in the directory where the agent works, and confined as the
# agent is where there is a cage.

set -u
check=${RAYMOND_VAR_CHECK:-}

if [ -z "$check" ]; then
	echo "no --meta check=...: going on to the review unchecked" >&2
elif ! output=$(bash -c "$check" 2>&1 </dev/null); then
	# What the tag carries is an attribute, so four characters need escaping.
	tail=$(tail -n 40 <<<"$output" |
		sed 's/&/\&amp;/g; s/"/\&quot;/g; s/</\&lt;/g; s/>/\&gt;/g')
	echo "<goto input=\"$tail\">FIX.md</goto>"
	exit
fi

# A script doesn't touch the agent's session, so REVIEW.md starts as a branch of
# the session of the agent that implemented.
echo '<call return="FINISH.md">REVIEW.md</call>'
