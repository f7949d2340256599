package endpoint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What an address says is read as the field writes it, can be written down again, and is shown
// without a password.
func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		address, at, name, user, password, database string
		sealed                                      bool
		shown                                       string
	}{
		{"10.0.0.1:6379", "10.0.0.1:6379", "", "", "", "", false, "10.0.0.1:6379"},
		{"redis://:pw@cache.test", "cache.test:6379", "cache.test", "", "pw", "", false, "redis://cache.test"},
		{"rediss://me:p%40s%2Fs@cache.test:6380/3", "cache.test:6380", "cache.test", "me", "p@s/s", "3", true, "rediss://cache.test:6380/3"},
		{"https://etcd.test:2379?cacert=/ca.pem", "etcd.test:2379", "etcd.test", "", "", "", true, "https://etcd.test:2379"},
		{"postgres://me:x@pg.test/app?sslmode=verify-full", "pg.test:5432", "pg.test", "me", "x", "app", true, "postgres://pg.test/app?sslmode=verify-full"},
		{"postgres://me:x@pg.test/app?sslmode=disable", "pg.test:5432", "pg.test", "me", "x", "app", false, "postgres://pg.test/app?sslmode=disable"},
		{"mysql://me:x@m.test/app", "m.test:3306", "m.test", "me", "x", "app", false, "mysql://m.test/app"},
		{"mysql://me:x@m.test/app?tls=true", "m.test:3306", "m.test", "me", "x", "app", true, "mysql://m.test/app?tls=true"},
		{"zk://me:x@zk.test", "zk.test:2181", "zk.test", "me", "x", "", false, "zk://zk.test"},
		{"zks://me:x@zk.test", "zk.test:2281", "zk.test", "me", "x", "", true, "zks://zk.test"},
		{"nats://me:x@nats.test", "nats.test:4222", "nats.test", "me", "x", "", false, "nats://nats.test"},
		{"tls://nats.test?creds=me.creds", "nats.test:4222", "nats.test", "", "", "", true, "tls://nats.test?creds=me.creds"},
		{"https://:token@consul.test:8501", "consul.test:8501", "consul.test", "", "token", "", true, "https://consul.test:8501"},
		{"rediss://[::1]:6380", "[::1]:6380", "", "", "", "", true, "rediss://[::1]:6380"},
	} {
		at, err := Parse(c.address)
		if err != nil {
			t.Errorf("%s: %v", c.address, err)
			continue
		}
		user, password := at.Account()
		if at.HostPort() != c.at || at.Name() != c.name || user != c.user || password != c.password || at.Database() != c.database ||
			at.Sealed() != c.sealed || at.String() != c.shown {
			t.Errorf("%s: %s %q %q %q %q %v %s", c.address, at.HostPort(), at.Name(), user, password, at.Database(), at.Sealed(), at)
		}
		if again, err := Parse(at.Address()); err != nil || again.Address() != at.Address() {
			t.Errorf("%s: read again as %s, %v", c.address, again, err)
		}
	}
}

// An address that is none is refused, and its password is not told.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "here", "here:", ":1", "here:0", "here:99999", "here:http", "gopher://me:hunter2@here:1",
		"redis://me:hunter2@", "redis://me:hunt er2@here:1", "redis://me:hunter2@here:x"} {
		if at, err := Parse(address); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %s, %v", address, at, err)
		}
	}
}

// The files for TLS go with the address, and not into the URL that clients of the field read.
func TestFiles(t *testing.T) {
	t.Parallel()
	at, err := Parse("postgres://me:x@pg.test/app?sslmode=verify-full&options=-c%20a%3Db&cacert=/own.pem")
	if err != nil {
		t.Fatal(err)
	}
	at = at.With(Files{CACert: "/ca.pem", Cert: "/c d.pem", Key: "/k.pem"}).At("10.88.0.2:5432")
	if want := (Files{CACert: "/own.pem", Cert: "/c d.pem", Key: "/k.pem"}); at.Files() != want {
		t.Errorf("%+v", at.Files())
	}
	if got := at.URL(); got != "postgres://me:x@10.88.0.2:5432/app?options=-c%20a%3Db&sslmode=verify-full" {
		t.Error(got)
	}
}

// Files that an address names as they lie here are found from elsewhere, too.
func TestAbsolute(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	at, err := Parse("tls://nats.test:1?creds=me.creds&cacert=%2Fca.pem")
	if err == nil {
		at, err = at.With(Files{Key: "k.pem"}).Absolute()
	}
	if want := (Files{CACert: "/ca.pem", Key: filepath.Join(here, "k.pem")}); err != nil || at.Files() != want ||
		at.Param(Creds) != filepath.Join(here, "me.creds") {
		t.Errorf("%s %+v %v", at, at.Files(), err)
	}
	if got := at.Without(Creds).URL(); got != "tls://nats.test:1" {
		t.Error(got)
	}
	if plain, err := Parse("h:1"); err != nil || plain.Without(Creds).Address() != "h:1" {
		t.Error(plain, err)
	}
}
