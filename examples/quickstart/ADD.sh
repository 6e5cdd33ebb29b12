# A worker: one of the three agents that 1_START.sh forked. The attributes of its
# <fork> tag are here as RAYMOND_VAR_PART, RAYMOND_VAR_FROM and RAYMOND_VAR_TO.

set -eu
parts=${TMPDIR:-/tmp}/raymond-$RAYMOND_WORKFLOW_ID

sum=0
for ((i = RAYMOND_VAR_FROM; i <= RAYMOND_VAR_TO; i++)); do
	sum=$((sum + i))
done

# mv makes the file appear whole, so main never reads half a number, and doing
# all this twice does no harm.
echo "$sum" >"$parts/$RAYMOND_AGENT_ID"
mv "$parts/$RAYMOND_AGENT_ID" "$parts/part$RAYMOND_VAR_PART"

# Nobody called this agent, so a result ends it.
echo "<result>$sum</result>"
