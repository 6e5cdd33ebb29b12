# One issue, RAYMOND_VAR_ISSUE. Notes on the issue that it is being worked on, and
# prints its text, unless it is done already or was tried too often.
# raymond: trusted=true targets=EXAMINE.md,ANSWER.sh

set -eu

text=$(node "$RAYMOND_SCOPE/poll.mjs" begin "$RAYMOND_VAR_ISSUE")
if [ -z "$text" ]; then
	echo "<result>issue $RAYMOND_VAR_ISSUE: nothing left to do</result>"
	exit
fi
# What a tag carries is an attribute, so four characters need escaping.
text=$(sed 's/&/\&amp;/g; s/"/\&quot;/g; s/</\&lt;/g; s/>/\&gt;/g' <<<"$text")
echo "<function return=\"ANSWER.sh\" input=\"$text\">EXAMINE.md</function>"
