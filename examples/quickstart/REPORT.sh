# Continues the caller. RAYMOND_RESULT is the result of CHECK.sh; a prompt would
# contain {{result}} instead.

set -eu

# main has no caller, so this result ends it, and the run. raymond prints only
# this text on stdout.
echo "<result>$RAYMOND_RESULT</result>"
