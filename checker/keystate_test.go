package checker

import (
	"fmt"
	"strings"
	"testing"
)

// TestRoomIsGivenBack: what the judge keeps does not grow with the history
// where nothing is written and nobody knows who has a key, either.
func TestRoomIsGivenBack(t *testing.T) {
	var text strings.Builder
	for i := range 400 {
		fmt.Fprintf(&text, "%c acquire [%d,%d]\n%[1]c release [%[4]d,%[5]d]\n", 'A'+rune(i%8), 10*i, 10*i+1, 10*i+15, 10*i+16)
	}
	h := confirms(noClaims(plainLock())).history(text.String()) // of which nothing can be found
	s, records := New(h.Header, h.Keys, Options{}), map[*grant]bool{}
	for i := range h.Events {
		s.Add(&h.Events[i])
		s.records.numbers.each(func(p *page) {
			for _, g := range p.grants {
				if g != nil {
					records[g] = true
				}
			}
		})
	}
	if len(records) > 2*grantBlock {
		t.Errorf("%d records for 400 grants, of which two at a time overlap", len(records))
	}

	text.Reset()
	text.WriteString("A acquire [0,1] info\n")
	for i := range 3000 { // a fault is spread twice
		fmt.Fprintf(&text, "stall B [%d,%d]\n", 10*i+2, 10*i+3)
	}
	text.WriteString("B acquire [30000,30001]")
	h = plainLock().history(text.String())
	s = New(h.Header, h.Keys, Options{})
	for i := range h.Events {
		s.Add(&h.Events[i])
	}
	if n := len(s.faults.clientSpans(2)); n > 2500 {
		t.Errorf("%d stalls are remembered of a machine on which nobody knows who has the key", n)
	}
}

// TestEdgesOfKeys: who is a key's waiter and holder, when processes come and go.
func TestEdgesOfKeys(t *testing.T) {
	run(t, []propertyCase{
		{"what is told of a dead process says nothing of its heir", MutualExclusion, plainLock(), `
		A acquire [0,1] proc=1
		A acquire [10,11] proc=33
		A exit    [12] proc=1
		B acquire [20,21]
		B release [30,31]
		A release [40,41] proc=33` + probeText, Violated, 1, KindGrantedWhileValid, ""},
		{"what its predecessor does late makes no process an older one", MutualExclusion, plainLock(), `
		A acquire [0,1] proc=1
		A acquire [4,20] run=5,6 key=k1 proc=33
		A renew   [5,6] key=k0 proc=1
		A exit    [10]
		B acquire [30,31] key=k1
		B release [40,41] key=k1` + probeText, Pass, 0, "", ""},
		{"given back twice, the first time unheard", MutualExclusion, plainLock(), `
		A acquire [0,1]
		A release [100,]
		A release [300,]
		B acquire [200,201]
		B release [400,401]` + probeText, Pass, 0, "", ""},
		{"one that was gone waits no more when its answer comes", MutualExclusion, plainLock(), `
		A acquire [0,1]
		B acquire [2,50] run=2,49 busy
		B exit    [20]
		C acquire [60,70] busy
		D acquire [61,71] busy
		E acquire [62,72] busy
		A release [80,81]` + probeText, Pass, 0, "", ""},
	})
}

// TestSettledGrantsAreForgotten: what a key remembers of grants that are over does not
// grow with their number, neither where each is over when the next one begins, nor where some
// always overlap.
func TestSettledGrantsAreForgotten(t *testing.T) {
	for name, overlap := range map[string]float64{"one after the other": 0, "always two at once": 15} {
		var text strings.Builder
		for i := range 400 {
			from := 10 * float64(i)
			fmt.Fprintf(&text, "%c acquire [%g,%g]\n%[1]c write [%[4]g,%[5]g]\n%[1]c release [%[6]g,%[7]g]\n",
				'A'+rune(i%8), from, from+1, from+2, from+3, from+4+overlap, from+5+overlap)
		}
		h := noClaims(plainLock()).history(text.String())
		s := New(h.Header, h.Keys, Options{})
		most := 0
		for i := range h.Events {
			s.Add(&h.Events[i])
			if len(s.book.keys) > 0 {
				most = max(most, len(s.book.keys[0].settled.blocks)*settledBlockSize)
			}
		}
		if most > 100 {
			t.Errorf("%s: %d grants that are over are remembered", name, most)
		}
	}
}
