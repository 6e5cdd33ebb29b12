package options

import (
	"errors"
	"fmt"
	"testing"

	"github.com/spf13/pflag"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestCageFlags checks the values of the flags of the cage. Flags that change the cage are errors if the
// cage is off.
func TestCageFlags(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string // mode, network and directories; empty for a usage error
	}{
		{nil, "off  [] []"},
		{[]string{"--cage=on"}, "on  [] []"},
		{[]string{"--cage=on", "--cage-write=a", "--cage-write=/b c"}, "on  [a /b c] []"},
		{[]string{"--cage=require", "--network=none"}, "require none [] []"},
		{[]string{"--cage=on", "--network=open"}, "on  [] []"},
		{[]string{"--cage=on", "--network=a.example,*.b.example:8443 registry-npm"}, "on a.example,*.b.example:8443 registry-npm [] []"},
		{[]string{"--network=open"}, "off  [] []"},
		{[]string{"--network=none"}, ""},
		{[]string{"--cage=on", "--network="}, ""},
		{[]string{"--cage=on", "--network=none,a.example"}, ""},
		{[]string{"--cage=on", "--network=https://a.example/"}, ""},
		{[]string{"--cage=off", "--cage-write=a"}, ""},
		{[]string{"--cage=off", "--cage-read=a"}, ""},
		{[]string{"--cage=on", "--cage-read=~/.m2"}, "on  [] [~/.m2]"},
		{[]string{"--cage=on", "--cage-read="}, ""},
		{[]string{"--cage=yes"}, ""},
		{[]string{"--cage=on", "--cage-write="}, ""},
		{[]string{"--cage=on", "--cage-write=a\nb"}, ""},
	} {
		flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
		o := New(flags)
		o.AddAll()
		assert.NilError(t, flags.Parse(test.args))
		got := ""
		if err := o.Check(); err == nil {
			got = fmt.Sprint(o.Cage.Mode, " ", o.Cage.Network, " ", o.Cage.Writable, o.Cage.Readable)
		}
		assert.Check(t, is.Equal(got, test.want), "%q", test.args)
	}
}

// TestProtectiveFlagsSurviveAResume checks that a resume keeps the flags that protect the run, unless it
// sets them. It doesn't keep flags that give access.
func TestProtectiveFlagsSurviveAResume(t *testing.T) {
	before := []string{"--cage=require", "--network=none", "--workspace=git", "--script-env=A,B", "--cage-write=/x"}
	for _, test := range []struct {
		before, args []string
		want         string // empty for a usage error
	}{
		{before, nil, "require none git [A B] []"},
		{before, []string{"--network=open", "--workspace=none"}, "require  none [A B] []"},
		{before, []string{"--cage=on", "--script-env=C"}, "on none git [C] []"},
		{before, []string{"--cage=off"}, "off  git [A B] []"},
		{before, []string{"--cage=off", "--network=none"}, ""},
		{before, []string{"--cage-write=a"}, "require none git [A B] [a]"},
		{nil, nil, "off  none [] []"},
		{nil, []string{"--cage=on"}, "on  none [] []"},
		{nil, []string{"--network=none"}, ""},
	} {
		var o *Options
		for _, args := range [][]string{test.before, test.args} {
			flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
			was := o
			o = New(flags)
			o.AddAll()
			o.Resumes = was != nil
			assert.NilError(t, errors.Join(flags.Parse(args), o.Check()))
			if was == nil {
				continue
			}
			got := ""
			if o.InheritProtection(was.ForNewRun()) == nil {
				got = fmt.Sprint(o.Cage.Mode, " ", o.Cage.Network, " ", o.Workspace, " ", o.ScriptEnv, " ", o.Cage.Writable)
			}
			assert.Check(t, is.Equal(got, test.want), "%q", args)
		}
	}
}
