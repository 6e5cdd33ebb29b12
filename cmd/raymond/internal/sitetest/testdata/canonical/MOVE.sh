printf '{"agent":"%s","state":"%s"}\n' "$RAYMOND_AGENT_ID" "$RAYMOND_STATE" >>"$SIDE_EFFECTS"
mkdir -p sub
echo '<reset cd="sub" input="moved">LAST.md</reset>'
