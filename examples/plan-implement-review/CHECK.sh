# Runs the command given with --meta check='...', which decides whether the work is
# correct. It runs in the agent's directory, and in the agent's cage if there is one.

set -u
check=${RAYMOND_VAR_CHECK:-}

if [ -z "$check" ]; then
	echo "no --meta check=...: going on to the review unchecked" >&2
elif ! output=$(bash -c "$check" 2>&1 </dev/null); then
	# An attribute of a tag: four characters need escaping.
	tail=$(tail -n 40 <<<"$output" |
		sed 's/&/\&amp;/g; s/"/\&quot;/g; s/</\&lt;/g; s/>/\&gt;/g')
	echo "<goto input=\"$tail\">FIX.md</goto>"
	exit
fi

# A script doesn't change the agent's session, so REVIEW.md starts as a branch of
# the session that implemented the plan.
echo '<call return="FINISH.md">REVIEW.md</call>'
