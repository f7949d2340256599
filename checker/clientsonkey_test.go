package checker

import (
	"math/rand/v2"
	"testing"
)

// TestClientsOnKey compares what is known of the clients of a key with a plain
// table of it, of few and of many clients.
func TestClientsOnKey(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 21))
		clients := int32(2 + rng.IntN(3*fewClients))
		var l clientsOnKey
		loose := map[int32]int32{}
		for range 500 {
			n := rng.Int32N(clients)
			c := l.find(n)
			if _, known := loose[n]; known != (c != nil) || known && (c.client != n || c.loose != loose[n]) {
				t.Fatalf("seed %d: client %d is %+v, want %d", seed, n, c, loose[n])
			}
			if c == nil {
				c = l.add(n)
			}
			c.loose = rng.Int32N(3)
			loose[n] = c.loose
			l.note(c)
			count, could := 0, map[int32]bool{}
			for c := range l.eachLoose {
				could[c.client], count = true, count+1
			}
			for n, x := range loose {
				if could[n] != (x > 0) {
					t.Fatalf("seed %d: client %d has %d: %v", seed, n, x, could)
				}
			}
			if count != len(could) {
				t.Fatalf("seed %d: a client is twice among %d", seed, count)
			}
		}
	}
}
