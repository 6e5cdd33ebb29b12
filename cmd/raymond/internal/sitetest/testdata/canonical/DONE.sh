printf '{"agent":"%s","state":"%s","payload":"%s","item":"%s"}\n' "$RAYMOND_AGENT_ID" "$RAYMOND_STATE" "$RAYMOND_RESULT" \
	"$RAYMOND_VAR_ITEM" >>"$SIDE_EFFECTS"
echo "<result>$RAYMOND_RESULT: $RAYMOND_VAR_QUOTE</result>"
