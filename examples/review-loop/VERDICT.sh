# Reads the result of the review from RAYMOND_RESULT. Agents are unreliable at
# counting, so a script enforces the limit.

set -eu
n=$RAYMOND_VISITS              # how often this state was entered, over jobs and crashes
most=${RAYMOND_VAR_REVIEWS:-3} # --meta reviews=N

# finish ends the run with the verdict and the text, which a job then shows.
finish() {
	text=
	if [ -f TEXT.md ]; then
		# No text of an agent may begin or end the tag.
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
	# An attribute of a tag: four characters need escaping.
	findings=$(sed 's/&/\&amp;/g; s/"/\&quot;/g; s/</\&lt;/g; s/>/\&gt;/g' <<<"$RAYMOND_RESULT")
	echo "<goto input=\"$findings\">REVISE.md</goto>"
fi
