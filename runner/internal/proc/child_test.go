package proc

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestBatchFilesGetNoCommands checks that a batch file can't get an argument in which cmd.exe would find
// a command.
func TestBatchFilesGetNoCommands(t *testing.T) {
	for _, path := range []string{`C:\npm\claude.cmd`, `C:\npm\X.BAT`, `C:\npm\claude.cmd. .`, `C:\npm\claude.exe`} {
		for argument, isSyntax := range map[string]bool{
			`--settings={"cleanupPeriodDays":3650}`: false, "--allowedTools=Bash(git push:*)": false, "opus[1m]": false,
			"x&calc": true, "%PATH%": true, "a|b": true, "a^b": true, "!a!": true, "a>b": true, "a<b": true, "a\nb": true, "a\rb": true,
		} {
			err := checkBatch(path, []string{"--model", argument})
			assert.Check(t, is.Equal(errors.Is(err, ErrBatch), isSyntax && path != `C:\npm\claude.exe`), "%s %q", path, argument)
		}
	}
}
