//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
)

// meddling is a workflow whose script writes to all command files that it finds,
// one of them by a link and one replaced by a link to a victim, and leaves a
// daemon without the run's mark that goes on doing so.
const meddling = `-- wf/START.sh --
folder=$RUNNER_TEMP/_runner_file_commands
echo precious >victim
for f in $(find "$RUNNER_TEMP" -type f -not -path '*/raymond/*' -not -name event.json); do
	printf 'evil<<EOF\ninjected\nEOF\nresult=injected\n' >>"$f"
done
ln -s "$folder/output" way
echo 'status=injected' >>way
rm "$folder/path" && ln -s "$PWD/victim" "$folder/path"
rm "$folder/state" && mkdir "$folder/state"
cat >daemon <<'EOF'
echo $$ >"$1/daemon.pid"
while :; do
	echo 'result=late' >>"$2/output"; echo 'LD_PRELOAD=/late.so' >>"$2/env"; /bin/sleep 0.01
done
