package watch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// driven is a watch that is handed lines some at a time, with a pass after each time.
func driven(t *testing.T, s Settings, lines [][]byte, every int) *watcher {
	t.Helper()
	w := &watcher{Settings: s, keys: map[string]*key{}, dirty: map[string]*key{}, arrived: time.Now(), aside: &unjudgedLines{dir: s.Dir}}
	var err error
	if w.found, err = openFindings(s.Dir); err != nil {
		t.Fatal(err)
	}
	defer w.found.close()
	for part := range slices.Chunk(lines, every) {
		if err := w.takeAll(part); err != nil {
			t.Fatal(err)
		}
		if err := w.pass(false); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.pass(true); err != nil {
		t.Fatal(err)
	}
	if err := w.journal.close(); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestHostileClock: a client whose clock is 23 hours ahead makes no line of
// others old, whether it writes one line or many, and whichever is the first.
func TestHostileClock(t *testing.T) {
	const ahead = int64(1_700_000_000_000) + 23*3600*1000
	for name, at := range map[string][]int{"first": {1}, "one": {900}, "several": {300, 301, 302, 303, 1500, 1900}} {
		t.Run(name, func(t *testing.T) {
			lines := log(31, 2000, true)
			for i, place := range at {
				event := []string{"granted", "write", "released"}[i%3]
				lines = slices.Insert(lines, place, fmt.Appendf(nil, "%d,wrong,%s,other,%d", ahead+int64(i), event, i/3+1))
			}
			s := settings(t.TempDir())
			// more than the log lasts from line to line, and less than it lasts
			s.Late = time.Minute
			w := driven(t, s, lines, 40)
			same(t, told(t, s.Dir), whole(t, lines))
			if w.Beyond+w.Bad+w.Crowded != 0 {
				t.Errorf("%d lines were too late, %d bad", w.Beyond, w.Bad)
			}
		})
	}
}

// TestHostileClockIsFollowed: a log goes on after a night of silence, with one
// client or with several.
func TestHostileClockIsFollowed(t *testing.T) {
	for _, clients := range []int{1, 2} {
		var c clock
		at := int64(1_700_000_000_000_000_000)
		for day := range 3 {
			for i := range 3 * soleClientLines {
				c.see(fmt.Sprint(i%clients), at+int64(day)*int64(12*time.Hour)+int64(i), int64(time.Second))
			}
			if behind := at + int64(day)*int64(12*time.Hour) + 3*soleClientLines - 1 - c.Newest; behind != 0 {
				t.Errorf("%d clients, day %d: %v behind", clients, day, time.Duration(behind))
			}
		}
	}
}

// never makes a log of a key that is never free. Clients overlap, and now and
// then one acts after long.
func never(seed uint64, lines int, hand func(r *rand.Rand, say func(pod, event string))) (all [][]byte) {
	r := rand.New(rand.NewPCG(seed, 2))
	all = append(all, []byte("time,pod,event,key,token"))
	at := int64(1_700_000_000_000)
	for len(all) < lines {
		hand(r, func(pod, event string) {
			at += int64(r.IntN(3)) + 1
			all = append(all, fmt.Appendf(nil, "%d,%s,%s,k,", at, pod, event))
		})
	}
	return all
}

// TestHostileNeverFree: of a key that is never free is kept what may still
// matter, and nothing is missed.
func TestHostileNeverFree(t *testing.T) {
	begun := false
	leader := func(r *rand.Rand, say func(string, string)) {
		if !begun {
			say("leader", "granted")
			begun = true
		}
		say("leader", "write")
		if r.IntN(500) == 0 { // another is granted it while the leader works on
			pod := fmt.Sprintf("p%d", r.IntN(100))
			say(pod, "granted")
			say(pod, "write")
			say("leader", "write")
			say(pod, "released")
		}
	}
	n := 0
	relay := func(r *rand.Rand, say func(string, string)) { // each begins before the one before it ends
		n++
		say(fmt.Sprintf("p%d", n%7), "granted")
		if n > 1 {
			say(fmt.Sprintf("p%d", (n-1)%7), "write")
			say(fmt.Sprintf("p%d", (n-1)%7), "released")
		}
	}
	waited := 0
	queue := func(r *rand.Rand, say func(string, string)) { // there always is one that waits
		waited++
		this, next := fmt.Sprintf("p%d", waited%5), fmt.Sprintf("p%d", (waited+1)%5)
		if waited == 1 {
			say(this, "acquire")
		}
		say(this, "granted")
		say(next, "acquire")
		if r.IntN(150) == 0 {
			pod := fmt.Sprintf("q%d", r.IntN(100))
			say(pod, "granted")
			say(this, "write")
			say(pod, "released")
		}
		say(this, "write")
		say(this, "released")
	}
	for name, hand := range map[string]func(*rand.Rand, func(string, string)){"leader": leader, "relay": relay, "queue": queue} {
		t.Run(name, func(t *testing.T) {
			begun, n, waited = false, 0, 0
			lines := never(41, map[string]int{"leader": 3000, "relay": 600, "queue": 3000}[name], hand)
			s := settings(t.TempDir())
			s.mostKept = 100
			s.Forget = time.Hour
			w := driven(t, s, lines, 100)
			same(t, told(t, s.Dir), whole(t, lines))
			if w.live() > 2*s.mostKept || w.Crowded+w.Beyond+w.Bad != 0 {
				t.Errorf("%d lines are kept, %d times lines were given up, %d bad, %d late", w.live(), w.Crowded, w.Bad, w.Beyond)
			}
		})
	}
}

// TestHostileSilentHolder: behind a holder that is silent everything may still
// matter. What is given up is counted.
func TestHostileSilentHolder(t *testing.T) {
	begun, n := false, 0
	lines := never(51, 30_000, func(_ *rand.Rand, say func(string, string)) {
		if !begun {
			say("silent", "granted")
			begun = true
		}
		n++
		say(fmt.Sprintf("p%d", n%9), "granted")
		say(fmt.Sprintf("p%d", n%9), "released")
	})
	s := settings(t.TempDir())
	s.Forget = 24 * time.Hour
	s.mostKept = 500
	w := driven(t, s, lines, 1000)
	if w.Crowded == 0 || w.live() > 2000 {
		t.Errorf("%d lines are kept, and lines were given up %d times", w.live(), w.Crowded)
	}
	if (Result{Lines: w.Lines, Crowded: w.Crowded}).Decided() {
		t.Error("it counts as judged")
	}
}

// run watches a text until it ends.
func run(t *testing.T, s Settings, text string) (Result, string, error) {
	t.Helper()
	var out strings.Builder
	s.Out = &out
	r, err := Run(t.Context(), strings.NewReader(text), s)
	return r, out.String(), err
}

// TestHostileBadLines: a log of which hardly a line can be read is not judged
// to be without violations.
func TestHostileBadLines(t *testing.T) {
	text := bytes.Join(log(3, 200, false), []byte("\n"))
	r, _, err := run(t, settings(t.TempDir()), string(text)+"\n"+strings.Repeat("1700000000000,p1,granted\n", 5000))
	if err != nil || r.Bad != 5000 || r.Findings != 0 || r.Decided() {
		t.Errorf("%+v, %v", r, err)
	}
	if r, _, err := run(t, settings(t.TempDir()), string(text)+"\n"); err != nil || !r.Decided() {
		t.Errorf("a log that is all right: %+v, %v", r, err)
	}
}

// TestHostileNothing: a log without a line about a lock is a mistake of its sender.
func TestHostileNothing(t *testing.T) {
	for _, text := range []string{"", "time,pod,event,key,token\n"} {
		if r, _, err := run(t, settings(t.TempDir()), text); err == nil || r.Decided() {
			t.Errorf("%q: %+v, %v", text, r, err)
		}
	}
}

// TestHostileOtherLog: a journal of another log is not taken for this one's without a word.
func TestHostileOtherLog(t *testing.T) {
	dir := t.TempDir()
	text := func(lines [][]byte) string { return string(bytes.Join(lines, []byte("\n"))) + "\n" }
	lines := log(61, 2000, true)
	if _, out, err := run(t, settings(dir), text(lines)); err != nil || strings.Contains(out, "goes on") {
		t.Fatal(out, err)
	}
	journal, err := os.ReadFile(filepath.Join(dir, journalFile))
	if err != nil {
		t.Fatal(err)
	}
	older := log(62, 300, true)
	if _, _, err := run(t, settings(dir), text(older)); err == nil || !strings.Contains(err.Error(), "another log") {
		t.Errorf("an older log: %v", err)
	}
	if now, err := os.ReadFile(filepath.Join(dir, journalFile)); err != nil || !bytes.Equal(now, journal) {
		t.Errorf("its lines are in the journal: %v", err)
	}
	if _, out, err := run(t, settings(dir), text(lines)); err != nil || strings.Contains(out, "goes on") {
		t.Errorf("the same log: %q, %v", out, err)
	}
	later := fmt.Sprintf("%d,p1,granted,k1,90000\n", int64(1_700_000_100_000))
	if r, out, err := run(t, settings(dir), later); err != nil || r.Lines != int64(len(lines))+1 ||
		!strings.Contains(out, "no line that comes was read before") {
		t.Errorf("a later line: %+v, %q, %v", r, out, err)
	}
}
