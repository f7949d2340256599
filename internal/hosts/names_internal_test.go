//go:build linux

package hosts

import (
	"net/netip"
	"testing"
)

// Names lead to the addresses that they are given, whatever else the machine's file says of them;
// other names stay.
func TestNamed(t *testing.T) {
	before := "127.0.0.1 localhost\n# a comment\n10.1.1.1 Cache.test. other # as it is\n10.1.1.2 cache.test\n::1 localhost ip6\n"
	got := string(named([]byte(before), map[string]netip.Addr{"cache.test": netip.MustParseAddr("10.88.0.2"),
		"b.test": netip.MustParseAddr("10.88.0.3")}))
	const want = "10.88.0.3 b.test\n10.88.0.2 cache.test\n127.0.0.1 localhost\n10.1.1.1 other\n::1 localhost ip6\n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// No daemon of the machine is asked for names.
func TestFilesOnly(t *testing.T) {
	const before = "passwd: files systemd\nhosts: mymachines resolve [!UNAVAIL=return] files dns\nnetworks: files\n"
	if got := string(filesOnly([]byte(before))); got != "passwd: files systemd\nnetworks: files\nhosts: files\n" {
		t.Errorf("%s", got)
	}
}
