package audit

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/audit/formats"
	"github.com/lockchaos/lockchaos/internal/audit/spill"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// cramped is room for nothing but what is looked at.
var cramped = spill.Room{Page: 2, Pages: 2, Run: 1, Tokens: 2, Names: 2}

// randomLog draws a log of owners of a few keys, and how to read it. Most lines
// are those of a lock that mostly works; times may be out of order, and tokens
// missing, 0, of another grant or not rising.
func randomLog(r *rand.Rand) (string, Options) {
	o := Options{Map: map[string]string{}, Tokens: []string{"", "fencing", "version", "none"}[r.IntN(4)],
		Permits: []int{1, 1, 2, 3}[r.IntN(4)], ClockError: time.Duration(max(0, r.IntN(18)-6)) * time.Millisecond}
	for _, field := range words.Fields {
		o.Map[field] = field
	}
	o.Reentrant = o.Permits == 1 && r.IntN(3) == 0
	o.Validity = []*Validity{nil, nil, {Released: true}, {TTL: time.Duration(1+r.IntN(60)) * time.Millisecond}}[r.IntN(4)]
	if r.IntN(6) == 0 {
		o.Clients = []string{"c1", "nobody", "c0"}
	}
	l := &randomLines{Rand: r, keys: 1 + r.IntN(3), owners: 1 + r.IntN(5), now: 1_763_107_200_000,
		unit: []int64{1, 1, 1000}[r.IntN(3)], asking: r.IntN(2) == 0, orderly: r.IntN(3),
		tokens: r.IntN(4), holder: map[int]int{}, given: map[int]int{}, mine: map[[2]int]int{}}
	var text strings.Builder
	text.WriteString(strings.Join(words.Fields, ",") + "\n")
	for range 1 + r.IntN(80) {
		text.WriteString(l.line())
	}
	return text.String(), o
}

type randomLines struct {
	*rand.Rand
	keys, owners    int
	now, unit       int64
	asking          bool // who wants the key says so
	orderly, tokens int
	holder          map[int]int    // by key, plus one
	given           map[int]int    // the last token, by key
	mine            map[[2]int]int // that of an owner on a key
}

func (l *randomLines) line() string {
	key, owner := l.IntN(l.keys), l.IntN(l.owners)
	l.now += l.Int64N(4) * l.unit
	at, end, token, result := l.now, "", "", ""
	if l.IntN(8) == 0 {
		at -= l.Int64N(20) * l.unit
	}
	if l.IntN(4) == 0 {
		end = fmt.Sprint(at + l.Int64N(15)*l.unit)
	}
	words := []string{"request", "granted", "acquire", "busy", "release", "not_held", "renew", "lost", "read", "write", "refused"}
	event := words[l.IntN(len(words))]
	if l.orderly > 0 && l.IntN(12) > 0 {
		event = l.likely(key, owner)
	}
	switch l.tokens {
	case 0:
		token = []string{"", "0"}[l.IntN(2)]
	case 1:
		token = fmt.Sprint(l.IntN(9))
	case 2:
		token = fmt.Sprint(l.mine[[2]int{key, owner}])
	}
	if l.IntN(10) == 0 {
		result = []string{"ok", "failed", "unknown", "rejected"}[l.IntN(4)]
	}
	failed := ""
	if l.IntN(20) == 0 {
		failed = []string{"nil", "busy", "EOF"}[l.IntN(3)]
	}
	mode := []string{"", "exclusive"}[at%2]
	return fmt.Sprintf("%d,%s,c%d,%s,k%d,%s,%s,%s,%s\n", at, end, owner, event, key, token, result, mode, failed)
}

// likely is what an owner does next with a lock that mostly works.
func (l *randomLines) likely(key, owner int) string {
	switch {
	case l.holder[key] == owner+1 && l.IntN(3) == 0:
		l.holder[key] = 0
		return "release"
	case l.holder[key] == owner+1:
		return []string{"write", "write", "renew", "read"}[l.IntN(4)]
	case l.holder[key] != 0 && l.IntN(10) > 0:
		return []string{"busy", "write", "request"}[l.IntN(3)]
	case l.asking && l.IntN(2) == 0:
		return "request"
	}
	l.given[key]++
	l.holder[key], l.mine[[2]int{key, owner}] = owner+1, l.given[key]
	return "granted"
}

// TestRoom: a log is read alike in memory and through temporary files.
func TestRoom(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	logs := 1000
	if os.Getenv("LOCKCHAOS_SOAK") != "" {
		logs *= 20
	}
	judged := 0
	for seed := range uint64(logs) {
		text, o := randomLog(rand.New(rand.NewPCG(seed, 5)))
		want := told([]byte(text), formats.CSV, o, o.block)
		if strings.Contains(want, "\n") {
			judged++
		}
		o.keep, o.block = cramped, 100
		if got := told([]byte(text), formats.CSV, o, o.block); got != want {
			a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
			i := 0
			for i < min(len(a), len(b))-1 && a[i] == b[i] {
				i++
			}
			t.Fatalf("seed %d: with little room, line %d is\n%s\nelse\n%s\n%+v\n%s", seed, i+1, a[i], b[i], o, text)
		}
	}
	if judged < logs/2 {
		t.Errorf("%d of %d logs were judged", judged, logs)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left in the folder of temporary files: %v, %v", left, err)
	}
}

// Where nothing can be kept, a log that needs it is refused with the folder.
func TestNoRoom(t *testing.T) {
	t.Setenv("TMPDIR", "/nonexistent")
	text := "time,client,event\n" + strings.Repeat("1,a,grant\n2,a,release\n", 20)
	_, err := Read(strings.NewReader(text), "log", formats.CSV, Options{keep: cramped})
	if err == nil || !strings.Contains(err.Error(), "/nonexistent") {
		t.Errorf("the error is %v", err)
	}
}
