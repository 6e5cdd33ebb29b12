# Reads the status of the checks of the pushed commit. While they run, this state runs again every two minutes: the job
# waits for that without a process. The payload is the commit, the round, and the number of looks so far.
# raymond: trusted=true targets=CHECKS.sh,FIX.md

set -eu
read -r commit round asked <<<"$RAYMOND_RESULT"
{ read -r verdict; report=$(cat); } < <(node "$RAYMOND_SCOPE/checks.mjs" "$commit" "$round" "$asked" || echo broken)

case $verdict in
success)
	echo "<result>The checks pass on $commit${RAYMOND_VAR_RUN:+, the tip of raymond/checks-$RAYMOND_VAR_RUN}.</result>"
	;;
pending)
	if ((asked >= ${RAYMOND_VAR_POLLS:-30})); then
		echo "the checks have not ended after being asked for $asked times" >&2
		exit 1
	fi
	echo "<goto after=\"${RAYMOND_VAR_PAUSE:-2m}\" input=\"$commit $round $((asked + 1))\">CHECKS.sh</goto>"
	;;
failure)
	if ((round > ${RAYMOND_VAR_ROUNDS:-3})); then
		printf 'the checks still fail after %d rounds:\n%s\n' "$((round - 1))" "$report" >&2
		exit 1
	fi
	# An attribute of a tag: four characters need escaping.
	text=$(sed 's/&/\&amp;/g; s/"/\&quot;/g; s/</\&lt;/g; s/>/\&gt;/g' <<<"$report")
	echo "<goto input=\"$text\">FIX.md</goto>"
	;;
*)
	exit 1
	;;
esac
