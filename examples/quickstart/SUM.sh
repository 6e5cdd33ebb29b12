# The workers have ended. The payload is a JSON array in the order of the forks:
# [{"agent":"main_add1","status":"completed","result":"up to 100: 5050","cost_usd":0}, …].

set -eu

n=0 total=0
while read -r to sum || [ -n "$to" ]; do
	n=$to total=$((total + sum))
done < <(sed 's/},/},\n/g' "$RAYMOND_RESULT_FILE" | sed -n 's/.*"result":"up to \([0-9]*\): \([0-9]*\)".*/\1 \2/p')

# A function call: CHECK.sh runs with this input, and after its <result> this
# agent continues in REPORT.sh with that result.
echo "<function return=\"REPORT.sh\" input=\"$n $total\">CHECK.sh</function>"
