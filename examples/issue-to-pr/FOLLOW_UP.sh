# Reads the answer on the pull request: it ends the run, or goes to the agent that wrote the work.

set -eu

if [ "$(tr '[:upper:]' '[:lower:]' <<<"$RAYMOND_RESULT" | tr -d '[:space:].!')" = done ]; then
	echo "<result>The pull request is as it should be.</result>"
	exit
fi
# An attribute of a tag: four characters need escaping.
wish=$(sed 's/&/\&amp;/g; s/"/\&quot;/g; s/</\&lt;/g; s/>/\&gt;/g' <<<"$RAYMOND_RESULT")
echo "<goto input=\"Somebody who reviews the pull request says:

$wish\">FIX.md</goto>"
