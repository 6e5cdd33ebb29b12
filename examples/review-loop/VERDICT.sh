# The result of the review is here as RAYMOND_RESULT. An agent can't be relied on
# to count, so the limit is kept by a script.

set -eu
dir=${TMPDIR:-/tmp}/raymond-$RAYMOND_WORKFLOW_ID
most=${RAYMOND_VAR_REVIEWS:-3} # --meta reviews=N

# A second try of this state, after a crash, counts the review twice: the loop
# then ends early, which does no harm.
mkdir -p -m 700 "$dir"
echo x >>"$dir/reviews"
n=$(wc -l <"$dir/reviews")

if [ "$RAYMOND_RESULT" = APPROVED ]; then
	rm -r "$dir"
	echo "<result>approved in review $((n))</result>"
elif ((n >= most)); then
	rm -r "$dir"
	echo "<result>not approved after $((n)) reviews; the last one said: $RAYMOND_RESULT</result>"
else
	# What the tag carries is an attribute, so four characters need escaping.
	findings=$(sed 's/&/\&amp;/g; s/"/\&quot;/g; s/</\&lt;/g; s/>/\&gt;/g' <<<"$RAYMOND_RESULT")
	echo "<goto input=\"$findings\">REVISE.md</goto>"
fi
