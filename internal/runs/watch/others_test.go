package watch

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/audit"
)

// TestLogsOfOthers: a watch finds in the logs of other people what check does,
// and passes none that check does not.
func TestLogsOfOthers(t *testing.T) {
	const violated, passed, open = "violated", "passed", "open"
	for _, c := range []struct {
		file    string
		options audit.Options
		want    string
	}{
		{"k01-second-grant-hides-first.csv", audit.Options{}, violated},
		{"k01-two-threads-one-pod.csv", audit.Options{}, violated},
		{"k01-two-threads-one-pod.csv", audit.Options{Map: map[string]string{"client": "pod"}}, open},
		{"k02-leader-not-told.csv", audit.Options{}, violated},
		{"k03-ttl-shorter-than-the-wait.csv", audit.Options{Validity: &audit.Validity{TTL: 15 * time.Second}}, open},
		{"k04-zone-names.csv", audit.Options{}, open},
		{"k04-zone-names.csv", audit.Options{Timezone: "Europe/Moscow"}, violated},
		{"k04-some-without-zone.csv", audit.Options{}, open},
		{"k04-clock-set-back-an-hour.csv", audit.Options{}, passed},
		{"k07-holder-known-by-renewals.csv", audit.Options{}, violated},
		{"k07-two-heartbeats.csv", audit.Options{}, violated},
		{"k08-revision-rises-on-renewal.csv", audit.Options{}, violated},
		{"k08-revision-rises-on-renewal.csv", audit.Options{Tokens: "none"}, violated},
		{"k08-revision-rises-on-renewal.csv", audit.Options{Tokens: "version"}, violated},
		{"k12-newest-first.csv", audit.Options{}, passed},
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", "audit", "testdata", "others", c.file))
		if err != nil {
			t.Fatal(err)
		}
		s := settings(t.TempDir())
		s.Options, s.Late, s.Forget = c.options, 5*time.Second, 10*time.Minute
		r, out, err := run(t, s, string(text))
		got := passed
		switch {
		case r.Findings > 0:
			got = violated
		case err != nil || !r.Decided() || r.Doubtful > 0:
			got = open
		}
		if got != c.want {
			t.Errorf("%s, %+v: %s, want %s: %+v, %v\n%s", c.file, c.options, got, c.want, r, err, out)
		}
	}
}

// TestTornRecords: a piece of a record is a line that was not judged, in CSV and
// in JSON, and takes no other line along. A line that names no lock is told.
func TestTornRecords(t *testing.T) {
	const table = "ts,pod,event,lock\n1700000001,a,acquired,k\n%s\n1700000002,a,released,k\n1700000003,b,acquired,k\n1700000004,b,released,k\n"
	const objects = `{"ts":1700000001,"pod":"a","event":"acquired","lock":"k"}
%s
{"ts":1700000002,"pod":"a","event":"released","lock":"k"}
`
	for piece, log := range map[string]string{
		"1700000002,c,acq":                       table,
		`1700000002,c,"acq`:                      table,
		`1700000002,c,acquired,"k`:               table,
		"17\x00\x00":                             table,
		"c is released":                          table,
		"more nonsense":                          table,
		`{"ts":1700000002,"pod":"c","ev`:         objects,
		`{"ts":1,"ev{"ts":2,"event":"released"}`: objects,
		"\x00\x00\x00":                           objects,
		"c is released by hand":                  objects,
	} {
		if r, _, err := run(t, settings(t.TempDir()), fmt.Sprintf(log, piece)); err != nil || r.Bad != 1 || r.Findings != 0 || r.Decided() {
			t.Errorf("%q: %+v, %v", piece, r, err)
		}
	}
	r, out, err := run(t, settings(t.TempDir()), fmt.Sprintf(table, "1700000001,c,acquired,\n1700000002,c,released,"))
	if err != nil || r.Open == 0 || r.Decided() || !strings.Contains(out, "it names no lock, and other lines do. (line 3)") {
		t.Errorf("a line without a lock: %+v, %v\n%s", r, err, out)
	}
}

// TestTornRelease: a bad line may be a release, so no promise accuses a client
// across it, also after a restart.
func TestTornRelease(t *testing.T) {
	const a, bad, b = "1700000001,a,acquired,k", "1700000002,a,rel", "1700000003,b,acquired,k\n1700000004,b,released,k\n"
	for log, want := range map[string]int64{a + "\n" + bad + "\n" + b: 0, bad + "\n" + a + "\n" + b: 1, a + "\n" + b + bad + "\n": 1} {
		s := settings(t.TempDir())
		s.Options.Validity = &audit.Validity{Released: true}
		for range 2 {
			if r, out, err := run(t, s, "ts,pod,event,lock\n"+log); err != nil || r.Findings != want || r.Decided() {
				t.Errorf("%q: %+v, %v, want %d\n%s", log, r, err, want, out)
			}
		}
	}
}

// TestGrantedTwice: what a client had before it was granted the key again is
// kept until it gives it up.
func TestGrantedTwice(t *testing.T) {
	lines := [][]byte{[]byte("ts,pod,event,lock"), []byte("1000,a,acquired,k"), []byte("1001,a,acquired,k"), []byte("1002,a,released,k")}
	for _, line := range []string{"1100,c,acquired,other", "1101,c,released,other", "1102,d,acquired,k",
		"1105,a,released,k", "1107,d,released,k"} {
		lines = append(lines, []byte(line))
	}
	s := settings(t.TempDir())
	s.Options, s.Forget = audit.Options{}, 10*time.Minute
	if w := driven(t, s, lines, 1); len(w.found.all) != 1 || w.Open == 0 {
		t.Errorf("%d findings, %d open lines", len(w.found.all), w.Open)
	}
}

// TestRenewalsAreKept: who renews a lease of which no grant is told is a
// holder, however long ago it began.
func TestRenewalsAreKept(t *testing.T) {
	lines := [][]byte{[]byte("ts,pod,event,lock")}
	for i := range 20 {
		lines = append(lines, fmt.Appendf(nil, "%d,%c,renewed,leader", 1000+20*i, 'a'+i%2),
			fmt.Appendf(nil, "%d,c,acquired,other", 1001+20*i), fmt.Appendf(nil, "%d,c,released,other", 1002+20*i))
	}
	s := settings(t.TempDir())
	s.Options, s.Forget = audit.Options{}, 10*time.Minute
	if w := driven(t, s, lines, 1); len(w.found.all) != 1 {
		t.Errorf("%d findings", len(w.found.all))
	}
}

// TestDeniedOnAnotherLock: where acquires say that they were granted, a silent one was not. That
// holds on any lock, and after a restart, and the first lines need not tell it.
func TestDeniedOnAnotherLock(t *testing.T) {
	granted := "ts,pod,op,lock,result\n1000,a,acquire,k,\n1001,a,acquire,k,OK\n1002,a,release,k,1\n"
	denied := "2000,c,acquire,j,\n2001,d,acquire,j,\n2002,c,acquire,j,\n2003,d,acquire,j,\n"
	split := func(text string) [][]byte { return bytes.Split([]byte(strings.TrimSpace(text)), []byte("\n")) }
	leased := func() Settings {
		s := settings(t.TempDir())
		s.Options = audit.Options{Validity: &audit.Validity{TTL: 10 * time.Second}}
		return s
	}
	for _, every := range []int{1, 100} {
		if w := driven(t, leased(), split(granted+denied), every); len(w.found.all) > 0 {
			t.Errorf("%d lines at a time: %v", every, w.found.all)
		}
		s := leased()
		driven(t, s, split(granted), every)
		if _, err := Run(t.Context(), strings.NewReader(denied), s); err != nil {
			t.Fatal(err)
		}
		if found := told(t, s.Dir); len(found) > 0 {
			t.Errorf("%d lines at a time, and after a restart: %v", every, found)
		}
	}
	twice := split(granted + strings.ReplaceAll(denied, ",j,", ",j,OK"))
	if w := driven(t, leased(), twice, 1); len(w.found.all) == 0 {
		t.Error("no double-hold of those that were granted the lock is found")
	}
}
