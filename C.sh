echo "C: $RAYMOND_VISITS by $RAYMOND_BY" >>"${TMPDIR:-/tmp}/s-trace"
echo '<result>ok</result>'
