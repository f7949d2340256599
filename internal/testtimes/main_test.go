package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const lines = `{"Action":"run","Package":"m/store","Test":"TestRemote"}
{"Action":"run","Package":"m/store","Test":"TestRemote/redis"}
{"Action":"output","Package":"m/store","Test":"TestRemote/redis","Output":"    servers_test.go:250: no redis here\n"}
{"Action":"output","Package":"m/store","Test":"TestRemote/redis","Output":"--- SKIP: TestRemote/redis (0.00s)\n"}
{"Action":"skip","Package":"m/store","Test":"TestRemote/redis","Elapsed":0}
{"Action":"output","Package":"m/store","Test":"TestLock/fifo","Output":"    run.go:9: not judged: The lock is not fair.\n"}
{"Action":"skip","Package":"m/store","Test":"TestLock/fifo","Elapsed":0}
{"Action":"pass","Package":"m/store","Test":"TestRemote","Elapsed":1.25}
not a line of it
{"Action":"pass","Package":"m/store","Test":"TestShort","Elapsed":0.1}
{"Action":"pass","Package":"m/store","Elapsed":1.5}
{"Action":"fail","Package":"m/harness","Elapsed":90}
{"Action":"skip","Package":"m/none","Elapsed":0}
`

func TestSummary(t *testing.T) {
	file := filepath.Join(t.TempDir(), "services.json")
	if err := os.WriteFile(file, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	s := newSummary()
	if err := s.read(strings.NewReader(`{"Action":"pass","Package":"m/checker","Elapsed":7}`)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, file + ".none"} {
		if err := s.file(name); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	s.print(&out)
	const want = `
Where the time went (packages run side by side):
   90.0 s  m/harness
    7.0 s  m/checker
    1.5 s  m/store (longest: TestRemote, 1.2 s)

Left out:
    1  no redis here (m/store.TestRemote/redis)
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
