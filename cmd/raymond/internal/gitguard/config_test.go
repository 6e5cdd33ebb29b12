package gitguard

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/internal/installtest"
)

// TestSettingsAreReadAsGitReadsThem compares what is read of a file with what git says of
// it, and with what git says of it when it was written anew.
func TestSettingsAreReadAsGitReadsThem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, text := range []string{
		"", "[a]\nb", "[a]b=c", "[A]\n\tB = C\n", "[a \"B.c\"]\nx=1\n[a \"\\\"\\\\\"]\nx=2\n", "[a.B]\nx = 1\n", "[a]\nx = 1 # c\ny = \"1 # c\" ; d\n",
		"[a]\nx = one \\\n two\n", "[a]\nx = \" b \"  c  \n", "[a]\nx = \\t\\n\\\"\\\\\n", "# c\n; d\n[a] # e\nx\ny =\n", "[a]\r\nx = 1\r\n",
		"\xef\xbb\xbf[a]\nx = 1\n", "[a]\nx = \"open\n", "[a\nx = 1\n", "[a]\nx = \\q\n", "[a]\n1x = 1\n", "[a]\nx y\n", "[a] x = 1 [b]\ny = 2\n",
		"[a]\nx = a\\\n# b\n", "[a]\nx = 1 \\", "[a \"x\ny\"]\nz=1\n", "[]\nx = 1\n", "[a]]\nx=1\n", "[a]\nx-y = é \x01\n", "[a]\nx = \"a\"b\"c d\"\n",
		"[a]\nx = 1;2\n[a]\nx = #\n",
	} {
		path := filepath.Join(dir, fmt.Sprint(i))
		write(t, path, text)
		want, fails := listed(path)
		list, isWhole := parse([]byte(text))
		if !isWhole != fails {
			t.Errorf("%q: read whole: %v, git fails: %v", text, isWhole, fails)
		}
		if fails {
			continue
		}
		write(t, path, string(encode(list)))
		if again, _ := listed(path); !slices.Equal(again, want) {
			t.Errorf("%q: git reads %q, and of what was written anew (%q) %q", text, want, encode(list), again)
		}
	}
}

// TestOddSettingsAreRefused: git reads these, and nobody has them.
func TestOddSettingsAreRefused(t *testing.T) {
	for _, text := range []string{"x = 1\n", "[a \"\"]\nx = 1\n"} {
		if list, isWhole := parse([]byte(text)); isWhole || len(list) > 0 {
			t.Errorf("%q: got %+v, %v, want nothing of it", text, list, isWhole)
		}
	}
}

// listed is what git reads in a file.
func listed(path string) (list []string, fails bool) {
	out, err := exec.Command("git", "config", "--file", path, "--null", "--list").Output()
	return strings.Split(string(out), "\x00"), err != nil
}

// write writes a file, which may be a program.
func write(t *testing.T, path, text string) {
	t.Helper()
	installtest.WriteProgram(t, path, text)
}
