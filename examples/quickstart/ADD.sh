# A worker: one of the three agents that 1_START.sh forked. The attributes of its
# <fork> tag are here as RAYMOND_VAR_FROM and RAYMOND_VAR_TO.

set -eu

sum=0
for ((i = RAYMOND_VAR_FROM; i <= RAYMOND_VAR_TO; i++)); do
	sum=$((sum + i))
done

# Nobody called this agent, so a result ends it. main gets it when it joins its workers.
echo "<result>up to $RAYMOND_VAR_TO: $sum</result>"
