printf '{"agent":"%s","state":"%s","dir":"%s"}\n' "$RAYMOND_AGENT_ID" "$RAYMOND_STATE" "${PWD##*/}" >>"$SIDE_EFFECTS"
echo "<result>the end,
with \"quotes\"</result>"
