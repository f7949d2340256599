package runtimes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/endpoint"
)

// An address may refer to the environment and to a file; a password of the environment is any text.
func TestFilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(file, []byte("rediss://me:${MY_PASSWORD}@${MY_HOST}:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const password = "p@ss:w/o r%d+"
	t.Setenv("MY_PASSWORD", password)
	t.Setenv("MY_HOST", "cache.test")
	t.Setenv("MY_URL", "rediss://me:p%40ss@cache.test:1")
	for address, want := range map[string]string{
		"127.0.0.1:1": "127.0.0.1:1", "rediss://me:${MY_PASSWORD}@cache.test:1": password, "@" + file: password, "${MY_URL}": "p@ss",
	} {
		got, err := filled(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		at, err := endpoint.Parse(got)
		if _, is := at.Account(); err != nil || is != want && got != want || at.Scheme() != "" && at.HostPort() != "cache.test:1" {
			t.Errorf("%s: %s, %v", address, got, err)
		}
	}
	for address, want := range map[string]string{"redis://${NOT_THERE}@h:1": "the environment has no NOT_THERE: set it",
		"@" + file + "x": "no such file"} {
		if got, err := filled(address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v", address, got, err)
		}
	}
}

// TestAnnouncedNames: what a server announces is put into a file of hosts only if it is a name.
func TestAnnouncedNames(t *testing.T) {
	for name, is := range map[string]bool{"redis-1.cache.test": true, "10.88.0.2": true, "fd00::1": true, "a_b": true,
		"a\n10.0.0.1 bank.example": false, "a b": false, "a#b": false, "\x1b[31m": false, "ü": false} {
		if strings.ContainsFunc(name, notInNames) == is {
			t.Errorf("%q is a name of a host: %v", name, is)
		}
	}
}
