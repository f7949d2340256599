package watch

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
	"github.com/lockchaos/lockchaos/internal/runs/saved"
)

// answers of check and of watch, as their exit statuses tell them apart.
const (
	passes   = "passed"
	violates = "violated"
	isOpen   = "open"
)

// checked is what check answers of a text. A watch does not say that there was nothing to exclude.
func checked(t *testing.T, text string, format formats.Format, o audit.Options) string {
	t.Helper()
	s, err := audit.Read(strings.NewReader(text), "whole", format, o)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if strings.HasPrefix(s.Header.Doubts[history.FactHolds], "No key was granted") {
		return ""
	}
	j, err := saved.Translated(s, everything, false)
	if err != nil {
		t.Fatal(err)
	}
	return map[checker.Outcome]string{checker.Pass: passes, checker.Violated: violates, checker.Inconclusive: isOpen}[j.Verdict.Outcome]
}

// answer is what a watch answers.
func (r Result) answer() string {
	switch {
	case r.Findings > 0:
		return violates
	case !r.Decided() || r.Doubtful > 0:
		return isOpen
	}
	return passes
}

// smallLog draws the log of a lock that is mostly right, with what makes logs hard to judge: writes
// under no grant, tokens that fall, stamps of whole seconds, holders that are never heard of again.
func smallLog(r *rand.Rand, object bool) []string {
	var lines []string
	if !object {
		lines = []string{"ts,pod,event,lock,token"}
	}
	tokens, writes, coarse := r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(4) == 0
	at, token := int64(1_700_000_000_007), 20
	say := func(pod int, event, key string, token int) {
		stamp, told := at, ""
		if coarse && pod == 0 {
			stamp /= 1000
		}
		if tokens && token > 0 {
			told = fmt.Sprint(token)
		}
		if object {
			lines = append(lines, fmt.Sprintf(`{"ts":%d,"pod":"p%d","event":%q,"lock":%q,"token":%q}`, stamp, pod, event, key, told))
		} else {
			lines = append(lines, fmt.Sprintf("%d,p%d,%s,%s,%s", stamp, pod, event, key, told))
		}
	}
	for range 3 + r.IntN(8) {
		pod, key := r.IntN(3), string(rune('j'+r.IntN(2)))
		if token += 10; r.IntN(12) == 0 {
			token -= 15
		}
		mine := token
		say(pod, "granted", key, mine)
		for range r.IntN(3) {
			at += int64(40 * r.IntN(30))
			if writes {
				say(pod, "write", key, mine)
			}
			if other := []string{"renewed", "lost", "busy", "request", "read", "not_held", "granted"}; r.IntN(8) == 0 {
				say([]int{pod, r.IntN(3)}[r.IntN(2)], other[r.IntN(len(other))], key, mine)
			}
		}
		if at += int64(40 * (1 + r.IntN(30))); r.IntN(12) > 0 {
			say(pod, "released", key, mine)
		}
		at += int64(40 * r.IntN(60))
		if writes && r.IntN(10) == 0 {
			say(r.IntN(3), "write", key, 0)
		}
		if r.IntN(12) == 0 {
			at -= 1200 // the next one is granted it too early, perhaps
		}
		at += 40
	}
	return lines
}

// TestAnswersWhatCheckAnswers: a watch of a small log answers what check does, whatever the ends of
// its lines and its encoding are, and also if most of it is forgotten when it ends.
func TestAnswersWhatCheckAnswers(t *testing.T) {
	encodings := []encoding.Encoding{encoding.Nop, unicode.UTF8BOM, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM),
		unicode.UTF16(unicode.BigEndian, unicode.UseBOM), unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)}
	answers := map[string]int{}
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 37))
		object := r.IntN(2) == 0
		format := map[bool]formats.Format{false: formats.CSV, true: formats.JSON}[object]
		lines := smallLog(r, object)
		end := []string{"\n", "\r\n"}[r.IntN(2)]
		plain := strings.Join(lines, end) + end
		text, err := encodings[seed%uint64(len(encodings))].NewEncoder().String(plain)
		if err != nil {
			t.Fatal(err)
		}
		s := settings(t.TempDir())
		s.Options = []audit.Options{{}, {Validity: &audit.Validity{TTL: 2 * time.Second}}, {Validity: &audit.Validity{Released: true}},
			{Tokens: "none"}, {ClockError: 100 * time.Millisecond}}[max(0, r.IntN(8)-3)]
		s.Forget = 10 * time.Minute
		s.Late = []time.Duration{50 * time.Millisecond, 5 * time.Second}[r.IntN(2)]
		want := checked(t, text, format, s.Options)
		if got := checked(t, plain, format, s.Options); got != want {
			t.Fatalf("seed %d: check says %q of the log, and %q of it in UTF-8\n%s", seed, want, got, plain)
		}
		result, out, err := run(t, s, text)
		if got := result.answer(); err != nil || want != "" && got != want {
			t.Fatalf("seed %d, %v late: a watch says %s, and check %s: %+v, %v\n%s%s", seed, s.Late, got, want, result, err, plain, out)
		}
		answers[want]++
		s.Dir = t.TempDir()
		w := driven(t, s, bytes.Split([]byte(strings.TrimSuffix(plain, "\n")), []byte("\n")), 1)
		got := Result{Bad: w.Bad, Beyond: w.Beyond, Crowded: w.Crowded, Open: w.Open, Doubtful: w.Doubtful,
			Findings: int64(len(w.found.all))}
		for _, k := range w.keys {
			if k.doubt != "" {
				got.Doubtful++
			}
		}
		if strings.Contains(plain, "lost") || strings.Contains(plain, "not_held") {
			// what follows it may be about a hold that is forgotten, and no alarm comes of that
			if got.answer() != violates {
				want = ""
			}
		}
		if got := got.answer(); want != "" && got != want && w.Beyond == 0 {
			t.Fatalf("seed %d, %v late: a watch line by line says %s, and check %s: %+v\n%s", seed, s.Late, got, want, w.state, plain)
		}
	}
	for _, answer := range []string{passes, violates, isOpen} {
		if answers[answer] < 15 {
			t.Errorf("%s: %d logs", answer, answers[answer])
		}
	}
}

// TestDoubtNamesTheLineOfTheLog: lines of a lock that are kept have other numbers among themselves.
func TestDoubtNamesTheLineOfTheLog(t *testing.T) {
	const other = "1.1,z,acquired,j,ok\n1.2,z,released,j,ok\n"
	for text, doubt := range map[string]string{
		"ts,pod,event,lock,result\n" + other + "2.1,a,acquired,k,ok\n3.1,b,acquired,k,ok\n4.1,b,released,k,ok\n" +
			"5.1,a,release,k,timeout\n": "k: Nobody confirmed the release of 1 hold (line 7), so",
		"ts,pod,event,lock,result\n" + other + "2.1,a,acquired,k,ok\n3.1,a,released,k,ok\n4.1,b,acquired,,ok\n": "lock: Line 6: it names no lock",
	} {
		s := settings(t.TempDir())
		s.Options = audit.Options{}
		if r, out, err := run(t, s, text); err != nil || !strings.HasPrefix(r.Doubt, doubt) {
			t.Errorf("%q, %v\n%s", r.Doubt, err, out)
		}
	}
}

// TestPageNamesTheLinesOfTheLog: the page of a finding and the finding name the same lines.
func TestPageNamesTheLinesOfTheLog(t *testing.T) {
	s := settings(t.TempDir())
	s.Options = audit.Options{}
	if _, out, err := run(t, s, "ts,pod,event,lock,result\n1.1,z,acquired,j,ok\n1.2,z,released,j,ok\n2.1,a,acquired,k,ok\n"+
		"3.1,b,acquired,k,ok\n4.1,a,released,k,ok\n5.1,b,released,k,ok\n"); err != nil || !strings.Contains(out, "(lines [4 5 6 7], ") {
		t.Fatalf("%v\n%s", err, out)
	}
	page, err := os.ReadFile(filepath.Join(s.Dir, "violation-0001", "report.html"))
	if err != nil || !bytes.Contains(page, []byte("line 7")) || bytes.Contains(page, []byte("line 2")) {
		t.Errorf("%v\n%s", err, page)
	}
}

// TestDoubtOutlivesItsLines: what a line left open stays open when it is forgotten, also after a
// restart.
func TestDoubtOutlivesItsLines(t *testing.T) {
	text := "ts,pod,event,lock\n1000,a,acquired,k\n1001,a,released,k\n1002,b,acquired,k\n1003,b,released,k\n1003,c,write,k\n"
	for i := range 50 {
		text += fmt.Sprintf("%d,%c,acquired,k\n%d,%[2]c,released,k\n", 1100+20*i, 'a'+i%2, 1101+20*i)
	}
	s := settings(t.TempDir())
	s.Options = audit.Options{}
	w := driven(t, s, bytes.Split([]byte(strings.TrimSpace(text)), []byte("\n")), 1)
	if w.live() > 50 || w.Doubtful == 0 {
		t.Errorf("%d lines are kept, and %d doubts", w.live(), w.Doubtful)
	}
	for range 2 {
		if r, out, err := run(t, s, text); err != nil || r.answer() != isOpen || !strings.Contains(r.Doubt, "1 write was made under no grant") {
			t.Errorf("%+v, %v\n%s", r, err, out)
		}
	}
	writes := "ts,pod,event,lock\n1000,a,acquired,k\n1001,a,released,k\n1002,b,acquired,k\n1003,b,released,k\n1003,c,write,j\n"
	if r, out, err := run(t, settings(t.TempDir()), writes); err != nil || r.answer() != isOpen {
		t.Errorf("a lock that nobody asks for: %+v, %v\n%s", r, err, out)
	}
}

// TestUTF16Grows: a text in UTF-16 is judged as it comes, not only when it ends.
func TestUTF16Grows(t *testing.T) {
	s := settings(t.TempDir())
	s.Options = audit.Options{}
	in, out := io.Pipe()
	defer out.Close()
	told, tells := io.Pipe()
	s.Out = tells
	go func() { _, _ = Run(t.Context(), in, s) }()
	text, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(
		"ts,pod,event,lock\r\n1000,a,acquired,k\r\n1001,b,acquired,k\r\n1002,b,released,k\r\n1003,a,released,k\r\n1004,c,acquired,k\r\n")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(out, text) }()
	line := make([]byte, 4096)
	if n, err := told.Read(line); err != nil || !strings.Contains(string(line[:n]), "mutual-exclusion on k") {
		t.Errorf("%q, %v", line[:n], err)
	}
}

// TestForgottenHoldsAccuseNobody: a renewal after a release, and a request of a client that holds
// the lock, say the same when the lines of the hold are forgotten.
func TestForgottenHoldsAccuseNobody(t *testing.T) {
	hold := func(at int, pod, key, token string) string {
		return fmt.Sprintf("%d.5,%s,granted,%s,%s\n%d.5,%[2]s,released,%[3]s,\n", at, pod, key, token, at+2)
	}
	late := hold(0, "a", "k", "") + hold(3, "b", "k", "") + "6.5,a,granted,k,\n7.5,b,renewed,k,\n8.5,a,released,k,\n"
	later := hold(0, "a", "k", "") + hold(3, "b", "k", "") + hold(30, "c", "j", "") + hold(33, "a", "j", "") + "36.5,a,granted,k,\n37.5,b,renewed,k,\n38.5,a,released,k,\n"
	asks := "0.5,a,granted,k,13\n1.5,a,request,k,\n2.5,a,released,k,\n" + hold(4, "b", "k", "") + hold(20, "c", "k", "")
	released := audit.Options{Validity: &audit.Validity{Released: true}}
	for name, c := range map[string]struct {
		log     string
		options audit.Options
		open    bool
	}{
		"a renewal":                       {late + hold(30, "a", "j", "") + hold(40, "b", "j", ""), audit.Options{}, true},
		"a renewal when all is forgotten": {later + hold(60, "a", "j", "") + hold(70, "b", "j", ""), audit.Options{}, true},
		"a request":                       {asks + hold(40, "b", "k", ""), released, false},
	} {
		s := settings(t.TempDir())
		s.Options, s.Forget = c.options, time.Hour
		w := driven(t, s, bytes.Split([]byte(strings.TrimSpace("ts,pod,event,lock,token\n"+c.log)), []byte("\n")), 1)
		if open := w.Open+w.Beyond > 0; open != c.open || len(w.found.all) > 0 {
			t.Errorf("%s: %v, %+v", name, w.found.all, w.state)
		}
	}
}
