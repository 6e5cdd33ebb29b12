# Looks for issues with the label. This costs no token: when there are none, no agent
# is started.
# raymond: many_forks=true

set -eu
PATH=/usr/bin:/bin:/usr/local/bin:$PATH # the token is at hand: the system's programs first

numbers=$(node "$RAYMOND_SCOPE/poll.mjs" find)
if [ -z "$numbers" ]; then
	echo "<result>nothing to do</result>"
	exit
fi
for n in $numbers; do
	echo "<fork next=\"WAIT.sh\" issue=\"$n\">ITEM.sh</fork>"
done
