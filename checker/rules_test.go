package checker

import (
	"strings"
	"testing"
)

// Reader-writer and reentrant locks at the edges of the rules about order, and
// what is not judged of which lock.
func TestEdgesOfClaims(t *testing.T) {
	rw := readWrite(plainLock())
	crossed := func(a, b, wa, wb, rest string) string {
		return strings.NewReplacer("HA", a, "HB", b, "WA", wa, "WB", wb).Replace(`
		A acquire [0,1] key=k0 mode=HA
		B acquire [0,1] key=k1 mode=HB
		`) + strings.NewReplacer("WA", wa, "WB", wb).Replace(rest) + probeText
	}
	const aFirst = "A acquire [2,403] busy key=k1 mode=WA\nB acquire [3,404] busy key=k0 mode=WB\n"
	const bFirst = "A acquire [3,404] busy key=k1 mode=WA\nB acquire [2,403] busy key=k0 mode=WB\n"
	cases := []propertyCase{
		{"a reentrant semaphore", MutualExclusion, permits(reentrant(plainLock()), 2), "A acquire [0,1]" + probeText,
			NotJudged, 0, "", "more than one permit"},
		{"tokens of a reader-writer lock", TokenOrder, readWrite(fencedLock()), healthy, Pass, 0, "", ""},
		{"a reader that writes", UnfencedWrite, noClaims(rw), `
		A acquire [0,1] mode=read
		B acquire [10,11] mode=write
		B write   [12,13]
		A write   [20,21]
		B release [30,31]` + probeText, Pass, 0, "", ""},
		{"a reader is confirmed beside another", Continuity, rw, `
		A acquire [0,1] mode=read
		B acquire [100,101] mode=read
		A renew   [200,201]` + probeText, Pass, 0, "", ""},
		{"a reader passes a reader", FIFO, fair(rw), `
		B acquire [2,40] mode=read enq=3 first=38
		C acquire [4,20] mode=read enq=5 first=18
		C release [30,31]
		B release [50,51]` + probeText, Pass, 0, "", ""},
		{"a writer passes a reader", FIFO, fair(rw), `
		B acquire [2,40] mode=read enq=3 first=38
		C acquire [4,20] mode=write enq=5 first=18
		C release [30,31]
		B release [50,51]` + probeText, Violated, 1, "", ""},
		{"what is nested passes the queue", FIFO, fair(reentrant(plainLock())), `
		A1=A acquire [0,1] enq=0.5
		B acquire [2,40] enq=3 first=38
		A2=A acquire [10,11] enq=10.5
		A release [20,21] g=A2
		A release [30,31] g=A1
		B release [50,51]` + probeText, Pass, 0, "", ""},
	}
	for _, x := range []struct {
		name, a, b, wa, wb string
		count              int
	}{
		{"readers wait for readers", "read", "read", "read", "read", 0},
		{"writers wait for readers", "read", "read", "write", "write", 1},
		{"readers wait for writers", "write", "write", "read", "read", 1},
		{"one of them waits for no reason", "read", "write", "read", "read", 0},
		{"the other waits for no reason", "write", "read", "read", "read", 0},
	} {
		outcome := map[int]Outcome{0: Pass, 1: Violated}[x.count]
		cases = append(cases, propertyCase{x.name, Deadlock, rw, crossed(x.a, x.b, x.wa, x.wb, aFirst), outcome, x.count, "", ""},
			propertyCase{x.name + ", told the other way round", Deadlock, rw, crossed(x.a, x.b, x.wa, x.wb, bFirst),
				outcome, x.count, "", ""})
	}
	run(t, cases)
}
