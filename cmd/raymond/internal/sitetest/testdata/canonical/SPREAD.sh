# raymond: many_forks=true
printf '{"agent":"%s","state":"%s","payload":"%s"}\n' "$RAYMOND_AGENT_ID" "$RAYMOND_STATE" "$RAYMOND_RESULT" >>"$SIDE_EFFECTS"
cat <<'TAGS'
<fork next="MOVE.sh" item="first" quote="it's &quot;a&quot;">WORK.md</fork>
<fork next="MOVE.sh" item="second" quote='&lt;b&gt;
on two lines' input="of &apos;{{item}}&apos;">WORK.md</fork>
TAGS
