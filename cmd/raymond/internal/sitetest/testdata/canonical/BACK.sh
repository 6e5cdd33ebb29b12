# A call came back to a script: the payload is in a file, byte for byte.
printf '{"agent":"%s","state":"%s","payload_sha256":"%s"}\n' "$RAYMOND_AGENT_ID" "$RAYMOND_STATE" \
	"$(sha256sum <"$RAYMOND_RESULT_FILE" | cut -c 1-64)" >>"$SIDE_EFFECTS"
echo "<result>outer got: $RAYMOND_RESULT</result>"
