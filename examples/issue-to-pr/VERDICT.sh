# The result of the review is here as RAYMOND_RESULT.

set -eu
dir=${RUNNER_TEMP:-${TMPDIR:-/tmp}}/raymond-$RAYMOND_WORKFLOW_ID
most=${RAYMOND_VAR_REVIEWS:-3}

if [ "$(tr -d '[:space:]' <<<"$RAYMOND_RESULT")" = APPROVED ]; then
	rm -rf "$dir"
	# SUMMARY.md runs in the conversation of the agent that implemented.
	echo '<call return="COMMIT.sh">SUMMARY.md</call>'
	exit
fi

mkdir -p -m 700 "$dir"
echo x >>"$dir/reviewed"
if (($(wc -l <"$dir/reviewed") >= most)); then
	rm -r "$dir"
	reviews="$most reviews"
	((most != 1)) || reviews='1 review'
	printf 'not approved after %s; the last one said:\n%s\n' "$reviews" "$RAYMOND_RESULT" >&2
	exit 1
fi
findings=$(sed 's/&/\&amp;/g; s/"/\&quot;/g; s/</\&lt;/g; s/>/\&gt;/g' <<<"$RAYMOND_RESULT")
echo "<goto input=\"A reviewer who knows nothing but the files and the issue says:

$findings\">FIX.md</goto>"
