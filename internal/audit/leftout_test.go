package audit_test

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

// TestLinesThatTell: a line that is left out allows no pass if it seems to say that a client was
// granted a lock, held it or gave it up, in any words for that. It may stand between rows, or be a
// record that names no lock. Lines that ask for a lock, or are about something else, do not count.
func TestLinesThatTell(t *testing.T) {
	const first = `{"ts":1,"pod":"a","msg":"acquired","lock":"k"}` + "\n"
	const rest = `{"ts":4,"pod":"a","msg":"released","lock":"k"}
{"ts":5,"pod":"b","msg":"acquired","lock":"k"}
{"ts":6,"pod":"b","msg":"released","lock":"k"}
`
	for want, lines := range map[checker.Outcome][]string{
		checker.Inconclusive: {
			"w3: got lock k", "w3: lock k freed", "obtained lock k", "gave back lock k", "released lock k", "lockAcquired k",
			"the lease of k expired", "w3 holds the lock", "mutex k taken by w3", "get lock success", "lock k: acquired after failed attempts",
			"managed it: acquire lock k", "renewed my lease", "w3 was able to acquire lock k",
			"w3 has the lock", "unlock k",
		},
		checker.Pass: {
			"database is locked", "deadlock detector started", "blocked by the firewall", "the clock was set", "block taken",
			"trying to acquire lock k", "failed to acquire lock k", "could not obtain lock on row in relation", "waiting for lock k",
			"Lock wait timeout exceeded; try restarting transaction", "connected to the lock server, got 3 peers",
			"get lock failed", "lock k is held by a", "will retry to get lock k", "got 200 from billing", "lock manager started", "processing invoice 17",
		},
	} {
		for _, line := range lines {
			for _, left := range []string{line, `{"ts":2,"pod":"c","msg":"` + line + `"}`, `{"ts":2,"pod":"c","log":{"message":"` + line + `"}}`} {
				v, s := judgeText(t, first+left+"\n"+rest, "log", formats.JSON, audit.Options{})
				if v.Outcome != want {
					t.Errorf("%s: %s, want %s\n%s", left, v.Outcome, want, said(s, v))
				}
				if text := strings.Join(s.Left, "\n"); want != checker.Pass && strings.Contains(text, "say nothing about a lock") {
					t.Errorf("%s: %s", left, text)
				}
				s.Close()
			}
		}
	}
	for name, c := range map[string]struct {
		format    formats.Format
		head, log string
		options   audit.Options
		want      checker.Outcome
	}{
		"a row without a lock":   {formats.CSV, "ts,pod,msg,lock\n", "2,c,acquired lock k,\n", audit.Options{}, checker.Inconclusive},
		"another column of it":   {formats.CSV, "ts,pod,event,lock,note\n", "2,c,,,got lock k\n", audit.Options{}, checker.Inconclusive},
		"another row without it": {formats.CSV, "ts,pod,msg,lock\n", "2,c,working,\n", audit.Options{}, checker.Pass},
		"a row to be ignored": {formats.CSV, "ts,pod,msg,lock\n", "2,c,acquired lock k,\n",
			audit.Options{Events: map[string][]string{"ignore": {"*"}}}, checker.Pass},
		"a line that no pattern matches": {formats.Text, "", "2: c got lock k\n",
			audit.Options{Pattern: `^(?P<ts>\d+),(?P<pod>\w+),(?P<event>\w+),(?P<lock>\w+)`, SkipUnmatched: true}, checker.Inconclusive},
		"another such line": {formats.Text, "", "2: c got a request\n",
			audit.Options{Pattern: `^(?P<ts>\d+),(?P<pod>\w+),(?P<event>\w+),(?P<lock>\w+)`, SkipUnmatched: true}, checker.Pass},
		"a word that is taught": {formats.Text, "", "2: c HAS lock k\n",
			audit.Options{Pattern: `^(?P<ts>\d+),(?P<pod>\w+),(?P<event>\w+),(?P<lock>\w+)`, SkipUnmatched: true,
				Events: map[string][]string{"grant": {"HAS"}}}, checker.Inconclusive},
	} {
		log := c.head + "1,a,acquired,k\n" + c.log + "4,a,released,k\n5,b,acquired,k\n6,b,released,k\n"
		if strings.Contains(c.head, "note") {
			log = strings.ReplaceAll(log, ",k\n", ",k,\n")
		}
		v, s := judgeText(t, log, "log", c.format, c.options)
		if v.Outcome != c.want {
			t.Errorf("%s: %s, want %s\n%s", name, v.Outcome, c.want, said(s, v))
		}
		s.Close()
	}
}
