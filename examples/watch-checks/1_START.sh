# The button passes a task. The schedule passes none: it only resumes a run that waits.

set -eu
task=$(<"$RAYMOND_RESULT_FILE") # the variable RAYMOND_INPUT ends at 64 KiB
if [ -z "${task//[[:space:]]/}" ]; then
	echo "<result>nothing to do</result>"
	exit
fi
# An attribute of a tag: four characters need escaping.
task=$(sed 's/&/\&amp;/g; s/"/\&quot;/g; s/</\&lt;/g; s/>/\&gt;/g' <<<"$task")
echo "<goto input=\"$task\">WORK.md</goto>"
