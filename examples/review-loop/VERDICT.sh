# The result of the review is here as RAYMOND_RESULT. An agent can't be relied on
# to count, so the limit is kept by a script.

set -eu
n=$RAYMOND_VISITS              # how often this state was entered, over jobs and crashes
most=${RAYMOND_VAR_REVIEWS:-3} # --meta reviews=N

# finish ends the run with how it went and, so that a job shows it, with the text.
finish() {
	text=
	if [ -f TEXT.md ]; then
		# Nothing that an agent has written there may begin or end the tag.
		text=$'\n\n'$(head -c 20000 TEXT.md | tr -d '\0' | sed -E 's/<(\/?result)/< \1/g')
	fi
	echo "<result>$1$text</result>"
}

if [ "$RAYMOND_RESULT" = APPROVED ]; then
	finish "approved in review $n"
elif ((n >= most)); then
	reviews="$n reviews"
	((n != 1)) || reviews='1 review'
	finish "not approved after $reviews; the last one said: $RAYMOND_RESULT"
else
	# What the tag carries is an attribute, so four characters need escaping.
	findings=$(sed 's/&/\&amp;/g; s/"/\&quot;/g; s/</\&lt;/g; s/>/\&gt;/g' <<<"$RAYMOND_RESULT")
	echo "<goto input=\"$findings\">REVISE.md</goto>"
fi
