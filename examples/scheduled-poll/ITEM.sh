# Handles the issue RAYMOND_VAR_ISSUE: records on the issue that work has begun, and
# passes its text to an agent, unless it is done or was tried too often.
# raymond: trusted=true targets=EXAMINE.md,ANSWER.sh

set -eu

text=$(node "$RAYMOND_SCOPE/poll.mjs" begin "$RAYMOND_VAR_ISSUE")
if [ -z "$text" ]; then
	echo "<result>issue $RAYMOND_VAR_ISSUE: nothing left to do</result>"
	exit
fi
# An attribute of a tag: four characters need escaping.
text=$(sed 's/&/\&amp;/g; s/"/\&quot;/g; s/</\&lt;/g; s/>/\&gt;/g' <<<"$text")
echo "<function return=\"ANSWER.sh\" input=\"$text\">EXAMINE.md</function>"
