# Looks for issues with the label. If there are none, no agent starts, and the run
# costs nothing.
# raymond: trusted=true many_forks=true targets=ITEM.sh,WAIT.sh

set -eu

numbers=$(node "$RAYMOND_SCOPE/poll.mjs" find)
if [ -z "$numbers" ]; then
	echo "<result>nothing to do</result>"
	exit
fi
for n in $numbers; do
	echo "<fork next=\"WAIT.sh\" issue=\"$n\">ITEM.sh</fork>"
done
