package forward

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, allowed, refused string }{
		{"none", "", "example.com:443 127.0.0.1:443"},
		{"example.com", "example.com:443 example.com:80 EXAMPLE.com.:443", "example.com:22 www.example.com:443 notexample.com:443 example.com.evil.org:443"},
		{"*.example.com", "a.example.com:443 a.b.example.com:80", "example.com:443 aexample.com:443 a.example.com:8443"},
		{"Example.COM:8443", "example.com:8443", "example.com:443"},
		{"a.org, b.org\nc.org d.org,", "a.org:80 b.org:80 c.org:80 d.org:80", "e.org:80"},
		{"10.0.0.5 [2001:4860::1]:8080 fd00::1 [fd00::2]", "10.0.0.5:443 [::ffff:10.0.0.5]:80 [2001:4860::1]:8080 [fd00::1]:443 [fd00::2]:80", "10.0.0.6:443 [2001:4860::1]:443"},
		{"127.0.0.1:5000", "127.0.0.1:5000", "127.0.0.1:443 127.0.0.2:5000 localhost:5000"},
		{"registry-npm example.com", "registry.npmjs.org:443 example.com:80", "registry.npmjs.org:80 pypi.org:443"},
		{"github", "github.com:443 codeload.github.com:443", "gist.github.com:443"},
	} {
		list, err := Parse(c.text)
		assert.Check(t, err, "%q", c.text)
		for _, hosts := range []struct {
			hosts string
			want  bool
		}{{c.allowed, true}, {c.refused, false}} {
			for _, host := range strings.Fields(hosts.hosts) {
				at, _ := parseTarget(host, 0)
				assert.Check(t, is.Equal(list.allows(at), hosts.want), "%q: %s", c.text, host)
			}
		}
	}
	if list, err := Parse(" open\n"); err != nil || !list.IsOpen() {
		t.Errorf("open: got %+v, %v", list, err)
	}
	for _, name := range Presets() {
		if list, err := Parse(name); err != nil || list.isNone() {
			t.Errorf("%s: got %+v, %v", name, list, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "empty",
		"open example.com":        "can't be combined",
		"none,none":               "can't be combined",
		"https://example.com":     "write only the host",
		"10.0.0.0/8":              "slash",
		"example.com:https":       `port "https"`,
		"example.com:0":           `port "0"`,
		"example.com:65536":       "1 to 65535",
		"*":                       "write open",
		"localhost":               "127.0.0.1",
		"fe80::1%eth0":            "zone",
		"a.*.com":                 "neither a host",
		"*example.com":            "neither a host",
		"127.1":                   "neither a host",
		"0x7f000001":              "neither a host",
		"2130706433":              "neither a host",
		"bücher.example":          "neither a host",
		"a..b":                    "neither a host",
		"::1:2:3:4:5:6:7:8:9":     "neither a host",
		"-a.example":              "neither a host",
		"user@example.com":        "neither a host",
		strings.Repeat("a.", 130): "neither a host",
	} {
		if list, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %+v, %v, want %q", text, list, err, want)
		}
	}
}

// TestInternalAddressesAreRecognized checks an address in each block that isn't public, and such
// addresses embedded in IPv6 addresses. It also checks that metadata addresses are recognized and public
// addresses are not special.
func TestInternalAddressesAreRecognized(t *testing.T) {
	for _, inside := range strings.Fields(`127.0.0.1 127.255.0.1 0.0.0.0 0.1.2.3 10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1
		169.254.169.254 168.63.129.16 100.64.0.1 100.100.100.200 192.0.0.192 198.18.0.1 192.0.2.1 224.0.0.1 239.1.1.1 240.0.0.1
		255.255.255.255 ::1 :: fe80::1 fc00::1 fd00:ec2::254 ff02::1 fec0::1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::1
		2002:7f00:1:: 2001:0:1::1 ::7f00:1 ::ffff:0:7f00:1 2001:db8::1`) {
		assert.Check(t, kindOf(netip.MustParseAddr(inside)) != "", "%s: got nothing special", inside)
		for _, address := range []string{netip.AddrPortFrom(netip.MustParseAddr(inside), 443).String(), "[::ffff:" + inside + "]:443"} {
			if strings.Contains(inside, ":") && strings.HasPrefix(address, "[::ffff:"+inside) {
				continue
			}
			assert.Check(t, (List{}).checkDial(t.Context(), "tcp", address, nil) != nil, "%s: it may be dialled", address)
		}
	}
	for _, metadata := range strings.Fields(`::ffff:169.254.169.254 ::169.254.169.254 ::ffff:0:169.254.169.254 64:ff9b::a9fe:a9fe 64:ff9b:1::a83f:8110
		64:ff9b:1:1:a9:fea9:fe00:0 64:ff9b:1:a9:fe:a9fe:: 64:ff9b:1:a9fe:a9:fe00:: 2002:a9fe:a9fe::1 2001:0:1::5601:5601`) {
		assert.Check(t, IsMetadata(netip.MustParseAddr(metadata)), metadata)
	}
	for _, outside := range []string{"8.8.8.8", "140.82.121.3", "172.32.0.1", "100.128.0.1", "2606:50c0:8000::153", "2a00:1450::1", "64:ff9b::8.8.8.8"} {
		assert.Check(t, is.Equal(kindOf(netip.MustParseAddr(outside)), ""), outside)
		assert.Check(t, !IsMetadata(netip.MustParseAddr(outside)), outside)
	}
}

// TestServicesOfTheJobAreReachable checks that a name may resolve to a private address if it is listed
// with its port. It must not resolve to this machine or to a metadata service, which no entry allows.
func TestServicesOfTheJobAreReachable(t *testing.T) {
	list, err := Parse("db:5432 wide.example *.all.example:5432 registry-npm 169.254.169.254:80 168.63.129.16:80 10.0.0.7:80")
	assert.NilError(t, err)
	for dial, want := range map[string]bool{
		"db:5432 10.9.9.9:5432": true, "db:5432 [fd12::5]:5432": true, "db:5432 8.8.8.8:5432": true,
		"db:5432 127.0.0.1:5432": false, "db:5432 169.254.169.254:5432": false, "db:5432 [fd00:ec2::254]:5432": false,
		"wide.example:443 10.9.9.9:443": false, "x.all.example:5432 10.9.9.9:5432": false, "registry.npmjs.org:443 10.9.9.9:443": false,
		"169.254.169.254:80 169.254.169.254:80": false, "168.63.129.16:80 168.63.129.16:80": false, "10.0.0.7:80 10.0.0.7:80": true,
	} {
		meant, address, _ := strings.Cut(dial, " ")
		at, ok := parseTarget(meant, 0)
		if got := list.checkDial(context.WithValue(t.Context(), targetKey{}, at), "tcp", address, nil); !ok || (got == nil) != want {
			t.Errorf("%s: got %v, want it reached: %v", dial, got, want)
		}
	}
}

// TestOwnAddressesAreRecognized checks that a public address of this machine is treated like a loopback
// address.
func TestOwnAddressesAreRecognized(t *testing.T) {
	defer func() { interfaceAddrs = net.InterfaceAddrs }()
	interfaceAddrs = func() ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: net.IPv4(8, 8, 8, 8), Mask: net.CIDRMask(24, 32)}}, nil
	}
	assert.Check(t, kindOf(netip.MustParseAddr("8.8.8.8")) != "", "an address of this machine")
	assert.Check(t, is.Equal(kindOf(netip.MustParseAddr("8.8.8.9")), ""), "an address of another machine")
}
