package audit_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

// TestCorrectLocksAreNotAccused: the logs of a lease that does what it should,
// kept by clients that stop when their lease is over, with clocks that err.
// Lines about acts get lost, answers come late, one may ask twice; whatever the
// reader is told or not told about the lock, there is no violation in it.
func TestCorrectLocksAreNotAccused(t *testing.T) {
	logs := 200
	if os.Getenv("LOCKCHAOS_SOAK") != "" {
		logs = 100_000
	}
	passed := 0
	for seed := range uint64(logs) {
		r := rand.New(rand.NewPCG(seed, 23))
		ttl, errs := 20+r.IntN(60), max(0, r.IntN(16)-8)
		text := correctLog(r, ttl, errs)
		for _, o := range []audit.Options{
			{}, {Validity: &audit.Validity{TTL: time.Duration(ttl) * time.Millisecond}}, {Tokens: "none"}, {Tokens: "version"},
		} {
			o.ClockError = time.Duration(errs) * time.Millisecond
			v, _ := judgeText(t, text, "a.csv", formats.CSV, o)
			for _, p := range v.Properties {
				if p.Outcome == checker.Violated {
					t.Fatalf("seed %d, TTL %d ms, error %d ms, %+v: %s\n%s", seed, ttl, errs, o, p.Violations[0].Text, text)
				}
			}
			if v.Outcome == checker.Pass {
				passed++
			}
		}
	}
	if passed < logs/10 {
		t.Errorf("only %d of %d judgements passed: the generator is of no use", passed, 4*logs)
	}
}

// correctLog simulates a lease of ttl ms in true time (ms), and writes what its
// clients would log by clocks that are up to errs off.
func correctLog(r *rand.Rand, ttl, errs int) string {
	type line struct {
		at    int
		order int
		text  string
	}
	var lines []line
	clients := 2 + r.IntN(3)
	offset := make([]int, clients)
	for c := range offset {
		if errs > 0 {
			offset[c] = r.IntN(2*errs+1) - errs
		}
	}
	asks, spoken := r.IntN(2) == 0, make([]int, clients)
	log := func(at, c int, event string, token int) {
		if r.IntN(25) == 0 && event != "granted" && event != "request" && event != "released" {
			return // lost on its way to the log
		}
		stamp := max(at+offset[c], spoken[c])
		spoken[c] = stamp
		lines = append(lines, line{stamp, len(lines), fmt.Sprintf("%d,p%d,%s,k,%d", 1_700_000_000_000+stamp, c, event, token)})
	}
	now, token := 100, 10
	for range 3 + r.IntN(8) {
		c := r.IntN(clients)
		if now <= spoken[c]-offset[c] {
			now = spoken[c] - offset[c] + 1
		}
		asked := now
		token++
		granted := now + r.IntN(4) // the service grants it some time after it was asked
		// counted by the client from when it asked, by the service from later
		lease := asked + ttl
		if asks {
			log(asked, c, "request", 0)
		} else {
			granted = asked
		}
		log(granted, c, "granted", token)
		at := granted
		for range r.IntN(4) {
			if at += r.IntN(10); at >= lease {
				break
			}
			switch r.IntN(5) {
			case 0:
				log(at, c, "renew", token)
				lease = at + ttl
			case 1:
				log(at, c, "read", token)
			default:
				log(at, c, "write", token)
			}
		}
		end := max(lease, at) + 5 // the service's lease is a little longer than the client's
		if at += r.IntN(6); r.IntN(3) > 0 && at < lease {
			log(at, c, "released", token)
			end = at + 1
		}
		now = end + r.IntN(6) + 20*r.IntN(2)
	}
	slices.SortStableFunc(lines, func(a, b line) int { return a.at - b.at })
	var b strings.Builder
	b.WriteString("ts,pod,action,lock,fence\n")
	for _, l := range lines {
		b.WriteString(l.text + "\n")
	}
	return b.String()
}
