# Reads the result of the review from RAYMOND_RESULT. Agents are unreliable at counting, so this script counts the
# reviews: RAYMOND_VISITS is how often it ran, over jobs and crashes.

set -eu
most=${RAYMOND_VAR_REVIEWS:-5}

if [ "$(tr -d '[:space:]' <<<"$RAYMOND_RESULT")" = APPROVED ]; then
	# SUMMARY.md runs in the conversation of the agent that implemented.
	echo '<call return="COMMIT.sh">SUMMARY.md</call>'
	exit
fi
if ((RAYMOND_VISITS >= most)); then
	printf 'not approved, and all reviews are used up (%d); the last one said:\n%s\n' "$most" "$RAYMOND_RESULT" >&2
	exit 1
fi
findings=$(sed 's/&/\&amp;/g; s/"/\&quot;/g; s/</\&lt;/g; s/>/\&gt;/g' <<<"$RAYMOND_RESULT")
echo "<goto input=\"A reviewer who knows nothing but the files and the issue says:

$findings\">FIX.md</goto>"
