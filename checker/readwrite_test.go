package checker

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// readersPass is a writer's wait, [0,10n+10], in which readers take the key n
// times, each before the one before has given it back.
func readersPass(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "A acquire [0,%d] enq=0.5 mode=write\n", 20+10*n)
	for i := range n {
		reader := 'B' + i%2
		fmt.Fprintf(&b, "%c acquire [%d,%d] enq=%d mode=read\n%c release [%d,%d]\n", reader, 2+10*i, 3+10*i, 3+10*i,
			reader, 15+10*i, 16+10*i)
	}
	return b.String() + probeText
}

// TestReadersAndWriters: what is said of waiting, of a lock with readers. Its
// TTL is 500 ms, so a key may be free and wanted for 3 s.
func TestReadersAndWriters(t *testing.T) {
	rw := readWrite(plainLock())
	three := clients(fair(rw), 3)
	const given = "A acquire [0,1] mode=write\nA release [10,11]\n"
	const circle = given + `
		B acquire [20,11000] busy mode=read
		C acquire [21,11001] busy mode=write
		D acquire [22,11002] busy mode=write`
	const passed = `
		A acquire [0,1] enq=0.5 mode=write
		A release [15,16]
		B acquire [2,40] enq=3 first=38 mode=write
		C acquire [4,20] enq=5 first=18 mode=read
		C release [30,31]
		B release [50,51]` + probeText
	noQueue := strings.NewReplacer("enq=0.5", "", "enq=3", "", "enq=5", "")
	asReader := strings.NewReplacer("B acquire [2,40] enq=3 first=38 mode=write", "B acquire [2,40] enq=3 first=38 mode=read")
	var byTurns strings.Builder // of two readers, one of whom always holds
	for i := range 20 {
		fmt.Fprintf(&byTurns, "%[1]c acquire [%[2]d,%[3]d] mode=read\n%[1]c release [%[4]d,%[5]d]\n", 'B'+i%2, 200*i,
			200*i+1, 200*i+300, 200*i+301)
	}
	run(t, []propertyCase{
		{"a reader and two writers wait for each other", StuckLock, rw, circle + lateProbe, Violated, 1, KindWedged,
			"nobody was granted it"},
		{"until a reader is granted it", StuckLock, rw,
			given + "B acquire [20,2900] mode=read\nB release [2901,2902]\nC acquire [21,2950] mode=write\nC release [2951,2952]" + lateProbe, Pass, 0, "", ""},
		{"nobody says what became of it", StuckLock, rw,
			given + "B acquire [20,2000] busy mode=read\nC acquire [21,2001] busy mode=write", Inconclusive, 0, "", "No fresh client"},
		{"a writer waits while readers hold it by turns", StuckLock, rw,
			byTurns.String() + "A acquire [10,3900] mode=write busy" + lateProbe, Pass, 0, "", ""},
		{"the key was free between readers' turns", StuckLock, rw,
			given + "B acquire [100,101] mode=read\nB release [110,111]\nA acquire [120,11000] mode=write busy" +
				lateProbe, Violated, 1, KindWedged, ""},
		{"a writer sleeps on, and a reader is granted the key at once", StuckLock, rw,
			given + "B acquire [5,9000] busy mode=write\nC acquire [4000,4001] mode=read\nC release [4010,4011]" + lateProbe,
			Violated, 1, KindAsleep, ""},
		{"a writer sleeps on while a reader holds, and another reader joins it", StuckLock,
			claim(rw, func(c *history.Claims) { c.Validity = "session" }),
			"A acquire [0,1] mode=read\nB acquire [5,9000] busy mode=write\nC acquire [4000,4001] mode=read\nC release [4010,4011]\nA release [8990,8991]" + lateProbe, Pass, 0, "", ""},

		{"a reader passes a writer", FIFO, fair(rw), passed, Violated, 1, "", "client 3, which asked only at"},
		{"a reader passes a reader", FIFO, fair(rw), asReader.Replace(passed), Pass, 0, "", ""},
		{"readers and writers of whom nobody says when they were enqueued", FIFO, fair(rw), noQueue.Replace(passed),
			Inconclusive, 0, "", "enqueued"},

		{"readers pass a writer again and again", Starvation, three, readersPass(31), Violated, 1, "", "31 times"},
		{"no more often than is allowed", Starvation, three, readersPass(30), Pass, 0, "", ""},
		{"the writer stalled meanwhile", Starvation, three, readersPass(31) + "\nstall A [20,30]", Inconclusive, 0, "",
			"1 waiter was passed over again and again, which a stall"},
		{"the writer was stopped meanwhile", Starvation, three, readersPass(31) + "\npause A [20,30]", Pass, 0, "", ""},
		{"readers may pass the writers of a lock that does not declare to be fair", Starvation, clients(rw, 3),
			readersPass(31), NotJudged, 0, "", "fair"},
		{"readers side by side are no double-hold", MutualExclusion, fair(rw), readersPass(20), Pass, 0, "", ""},
	})
}

// TestTokensOfReadersAndWriters: they order a reader and a writer, and two
// writers; two readers they do not.
func TestTokensOfReadersAndWriters(t *testing.T) {
	fenced := readWrite(fencedLock())
	// A's reply is late, so that time does not tell whether A or B was granted the key first.
	late := func(a, b string) string {
		return "A acquire [0,700] tok=1 mode=" + a + "\nB acquire [600,601] tok=2 mode=" + b + `
			pause A [2,690]
			A renew [701,702]
			B renew [750,751]` + probeText
	}
	both := func(a, b string) string {
		return "A acquire [0,1] " + a + "\nA release [5,6]\nB acquire [10,11] " + b + "\nB release [15,16]" + probeText
	}
	twice := func(a, b string) string { // A's acquire returns after B's
		return "A acquire [0,20] " + a + "\nB acquire [10,11] " + b + "\nB release [12,13]\nA release [25,26]" + probeText
	}
	// By R's token W was granted the key by 51, and so V before that.
	const implied = `
		A acquire [0,95] tok=6 first=1 mode=write
		B acquire [50,51] tok=7 mode=read
		C acquire [FIRST,99] tok=5 first=FIRST mode=read
		pause A [0,1000]
		pause C [0,1000]` + probeText
	run(t, []propertyCase{
		{"a writer overran beside a reader, by their tokens", MutualExclusion, fenced, late("write", "read"), Violated,
			1, KindLeaseOverrun, "client 1"},
		{"a reader overran beside a writer, by their tokens", MutualExclusion, fenced, late("read", "write"), Violated,
			1, KindLeaseOverrun, "client 1"},
		{"no tokens are declared to fence", MutualExclusion, rwLock(), late("write", "read"), Violated, 1, KindLeaseOverrun, ""},
		{"readers side by side, by their tokens", MutualExclusion, fenced, late("read", "read"), Pass, 0, "", ""},
		{"a stall alone explains it", MutualExclusion, fenced,
			strings.Replace(late("write", "read"), "pause", "stall", 1), Inconclusive, 0, "", "A stall of this machine"},

		{"tokens rise", TokenOrder, fenced, both("tok=1 mode=read", "tok=2 mode=write"), Pass, 0, "", ""},
		{"a writer after a reader has a smaller one", TokenOrder, fenced, both("tok=2 mode=read", "tok=1 mode=write"),
			Violated, 1, "", "smaller than token 2"},
		{"a reader after a writer has a smaller one", TokenOrder, fenced, both("tok=2 mode=write", "tok=1 mode=read"),
			Violated, 1, "", "smaller than token 2"},
		{"a reader after a reader has a smaller one", TokenOrder, fenced, both("tok=2 mode=read", "tok=1 mode=read"), Pass, 0, "", ""},
		{"a reader has that of the writer before it", TokenOrder, fenced, both("tok=2 mode=write", "tok=2 mode=read"),
			Violated, 1, "", "both given token 2"},
		{"a writer has that of the reader before it", TokenOrder, fenced, both("tok=2 mode=read", "tok=2 mode=write"),
			Violated, 1, "", "both given token 2"},
		{"readers share one", TokenOrder, fenced, both("tok=2 mode=read", "tok=2 mode=read"), Pass, 0, "", ""},
		{"writers share one", TokenOrder, fenced, both("tok=2 mode=write", "tok=2 mode=write"), Violated, 1, "", "both given token 2"},
		{"undisturbed, a reader's comes after a greater one of a writer", TokenOrder, fenced,
			twice("tok=1 mode=read", "tok=2 mode=write"), Violated, 1, "", "which nothing disturbed"},
		{"undisturbed, a reader's comes after a greater one of a reader", TokenOrder, fenced,
			twice("tok=1 mode=read", "tok=2 mode=read"), Pass, 0, "", ""},
		{"no grant has one", TokenOrder, fenced, both("mode=read", "mode=write"), Inconclusive, 0, "", "No grant carried a token"},
		{"two readers and the writer between them", TokenOrder, fenced, strings.ReplaceAll(implied, "FIRST", "60"),
			Violated, 1, "", "by then a reader had a greater one still"},
		{"two readers and the writer between them, in time", TokenOrder, fenced,
			strings.ReplaceAll(implied, "FIRST", "40"), Pass, 0, "", ""},
	})
}

func rwLock() script { return readWrite(plainLock()) }

// TestWedgedOfARealRun: the control broken-etcd-readers-yield on real servers,
// by its smallest witness.
func TestWedgedOfARealRun(t *testing.T) {
	h, err := history.ReadFile(filepath.Join("testdata", "patterns", "broken-etcd-readers-yield.none.unfenced.stuck-lock.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if v := Judge(h, Options{}); kindOf(v, StuckLock) != KindWedged {
		t.Errorf("%+v", v.Property(StuckLock))
	}
}

func readWrite(s script) script { return claim(s, func(c *history.Claims) { c.ReadWrite = true }) }
