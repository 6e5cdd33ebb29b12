# main looks whether the workers are done. Waiting is a loop of states, not of
# bash, so that the other agents get their turn even under --max-parallel 1.

set -eu
parts=${TMPDIR:-/tmp}/raymond-$RAYMOND_WORKFLOW_ID

for part in 1 2 3; do
	if [ ! -e "$parts/part$part" ]; then
		sleep 5
		echo "<goto>WAIT.sh</goto>"
		exit
	fi
done

n=$(cat "$parts/n")
total=$(($(cat "$parts/part1") + $(cat "$parts/part2") + $(cat "$parts/part3")))

# A function call: CHECK.sh runs with this input, and when it says <result>, this
# agent goes on in REPORT.sh with that result.
echo "<function return=\"REPORT.sh\" input=\"$n $total\">CHECK.sh</function>"
