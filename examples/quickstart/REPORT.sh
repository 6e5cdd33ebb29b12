# Back in the caller. RAYMOND_RESULT is what CHECK.sh returned; a prompt state
# would write {{result}} instead.

set -eu

# main has no caller left: this ends it, and with it the run. The text is all
# that raymond prints on stdout.
echo "<result>$RAYMOND_RESULT</result>"
