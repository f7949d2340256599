package audit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

const (
	extends = `"if redis.call(\"get\",KEYS[1]) == ARGV[1] then return redis.call(\"pexpire\",KEYS[1],ARGV[2]) else return 0 end" "1" "k"`
	deletes = `"if redis.call(\"get\",KEYS[1]) == ARGV[1] then return redis.call(\"del\",KEYS[1]) else return 0 end" "1" "k"`
)

// monitored writes commands, "client command", as MONITOR does, a second apart.
func monitored(commands ...string) string {
	var text strings.Builder
	text.WriteString("OK\n")
	for i, c := range commands {
		client, words, _ := strings.Cut(c, " ")
		if client != "lua" {
			client = "127.0.0.1:" + client
		}
		fmt.Fprintf(&text, "%d.000001 [0 %s] %s\n", 1_700_000_000+i, client, words)
	}
	return text.String()
}

// TestMonitor: only renewals under a client's own value prove that it took
// itself for the holder. The real outputs in TestRecords were made with Redis 7.
func TestMonitor(t *testing.T) {
	const (
		askA, askB     = `1 "SET" "k" "a" "NX" "PX" "1000"`, `2 "set" "k" "b" "px" "1000" "nx"`
		renewA, renewB = `1 "EVAL" ` + extends + ` "a" "1000"`, `2 "eval" ` + extends + ` "b" "1000"`
		freeA, freeB   = `1 "eval" ` + deletes + ` "a"`, `2 "eval" ` + deletes + ` "b"`
		got, found     = `lua "get" "k"`, `lua "pexpire" "k" "1000"`
		deleted        = `lua "DEL" "k"`
	)
	for name, c := range map[string]struct {
		commands []string
		want     checker.Outcome
	}{
		"in turn, by scripts": {[]string{askA, renewA, got, found, askB, renewB, got, found, renewA,
			got, renewB, got, found}, checker.Violated},
		"in turn, without lines of scripts": {[]string{askA, askB, renewA, renewB, renewA, renewB}, checker.Violated},
		"by SET XX": {[]string{askA, askB, `1 "SET" "k" "a" "PX" "9" "XX"`,
			`2 "SET" "k" "b" "XX"`, `1 "SET" "k" "a" "XX"`, `2 "SET" "k" "b" "XX"`}, checker.Violated},
		"with a look at the key in between": {[]string{askA, askB, renewA, renewB, `1 "GET" "k"`, renewA,
			`2 "EXISTS" "k"`, renewB}, checker.Inconclusive},
		"one that asks again": {[]string{askA, renewA, got, found, askB, renewB, got, found, renewA,
			got, askA, renewB, got, found}, checker.Inconclusive},
		"one that gave it up, late": {[]string{askA, renewA, got, found, freeA, got, deleted, askB, renewB,
			got, found, renewA, got, renewB, got, found}, checker.Inconclusive},
		"releases only": {[]string{askA, askB, freeA, got, freeB, got, deleted}, checker.Inconclusive},
		"a release behind another's renewal": {[]string{askA, renewA, got, found, askB, renewB, got, found, freeA,
			got, renewB, got, found}, checker.Inconclusive},
		"DEL and PEXPIRE": {[]string{askA, askB, `1 "PEXPIRE" "k" "1000"`,
			`2 "PEXPIRE" "k" "1000"`, `1 "PEXPIRE" "k" "1000"`, `2 "DEL" "k"`, `1 "DEL" "k"`}, checker.Inconclusive},
		"a script that is not known": {[]string{askA, renewA, got, found, askB, renewB, got, found,
			`1 "evalsha" "00" "1" "k" "a" "1000"`, got, renewB, got, found}, checker.Inconclusive},
		"an election in one script": {[]string{`1 "eval" "if redis.call('get',KEYS[1]) == ARGV[1] then redis.call('pexpire',KEYS[1],9) elseif redis.call('set',KEYS[1],ARGV[1],'NX') then return 1 end" "1" "k" "a"`, got, found, askB, renewB, got, found, `1 "eval" "if redis.call('get',KEYS[1]) == ARGV[1] then redis.call('pexpire',KEYS[1],9) elseif redis.call('set',KEYS[1],ARGV[1],'NX') then return 1 end" "1" "k" "a"`, got, renewB, got, found}, checker.Inconclusive},
		"other databases": {[]string{askA, renewA, got, found,
			strings.Replace(askB, `"k"`, `"j"`, 1), strings.Replace(renewB, `"1" "k"`, `"1" "j"`, 1), `lua "get" "j"`,
			`lua "pexpire" "j"`, renewA, got, found}, checker.Inconclusive},
		"requests only": {[]string{askA, `1 "SETNX" "j" "x"`}, checker.Inconclusive},
		"a value with quotes, and one of bytes": {[]string{`1 "set" "k" "a \"q\" \xff" "nx"`,
			`1 "eval" ` + extends + ` "a \"q\" \xff" "1000"`, got, found, askB, renewB, got, found,
			`1 "eval" ` + extends + ` "a \"q\" \xff" "1000"`, got, renewB, got, found}, checker.Violated},
	} {
		v, s := judgeText(t, monitored(c.commands...), "m", formats.Monitor, audit.Options{})
		if v.Outcome != c.want {
			t.Errorf("%s: %s, want %s\n%s", name, v.Outcome, c.want, said(s, v))
		}
		s.Close()
	}
}

// TestMonitorOdd: lines that are none of MONITOR's are left out and told, and a
// file without any is refused.
func TestMonitorOdd(t *testing.T) {
	log := monitored(`1 "SET" "k" "a" "NX"`) + "Error: Server closed the connection\n" +
		`1700000009.000001 [0 [::1]:5] "set" "k" "a` + "\n" +
		`1700000010.000001 [0 unix:/run/redis.sock] "set" "big" "` + strings.Repeat("x", 1<<21) + "\"\n" +
		`1700000011.000001 [3 [::1]:5] "eval" "x"`
	v, s := judgeText(t, log, "m", formats.Monitor, audit.Options{})
	text, left := fmt.Sprint(s.Open), strings.Join(s.Left, "\n")
	if v.Outcome != checker.Inconclusive {
		t.Error(v.Outcome)
	}
	for _, want := range []string{"{2 MONITOR shows no replies", "{4 it is left out, and seems to tell of a lock"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	for _, want := range []string{"no commands of MONITOR: 2, the first is line 3",
		"more than 1048576 bytes: 1, the first is line 5", "Scripts that are not known here: 1, the first is line 6"} {
		if !strings.Contains(left, want) {
			t.Errorf("%q is not in %s", want, left)
		}
	}
	if _, err := audit.Read(strings.NewReader("nothing\n"), "m", formats.Monitor, audit.Options{}); err == nil ||
		!strings.Contains(err.Error(), "it is no output of MONITOR") {
		t.Error(err)
	}
}

func FuzzMonitor(f *testing.F) {
	seed(f, "testdata/records/monitor-*")
	f.Add([]byte("\x00\x80\x0000")) // UTF-16, and half a character
	f.Fuzz(func(t *testing.T, data []byte) { try(t, data, formats.Monitor) })
}
