# Puts the answer on the issue and takes the label away, in this order: where one of
# the two is missing, the next try does the rest and nothing twice.
# raymond: trusted=true

set -eu

node "$RAYMOND_SCOPE/poll.mjs" answer "$RAYMOND_VAR_ISSUE" <"$RAYMOND_RESULT_FILE"
echo "<result>issue $RAYMOND_VAR_ISSUE: answered</result>"
