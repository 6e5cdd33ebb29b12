# The agents have ended, with or without success. The payload is a JSON array with an entry for each.
# raymond: targets=1_START.sh

set -eu

count() { grep -o "\"status\":\"$1\"" "$RAYMOND_RESULT_FILE" | wc -l | tr -d ' '; }
failed=$(count failed)
if ((failed == 0)); then
	echo "<result>$(count completed) looked at</result>"
	exit
fi
# The run is suspended until then. The schedule of the workflow file resumes it, and the issues whose agents
# failed still have their label.
echo "$failed failed: another look in ${RAYMOND_VAR_AGAIN:-50m}" >&2
echo "<goto after=\"${RAYMOND_VAR_AGAIN:-50m}\">1_START.sh</goto>"
