# A worker: one of the three agents that 1_START.sh forked. RAYMOND_VAR_FROM and
# RAYMOND_VAR_TO are the attributes of its <fork> tag.

set -eu

sum=0
for ((i = RAYMOND_VAR_FROM; i <= RAYMOND_VAR_TO; i++)); do
	sum=$((sum + i))
done

# This agent has no caller, so a result ends it. main gets the result when it joins its workers.
echo "<result>up to $RAYMOND_VAR_TO: $sum</result>"
