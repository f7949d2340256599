package wire

import (
	"sync"
	"sync/atomic"
)

// Numbers gives out the numbers of ops, incarnations and faults, over all
// clients, and counts what a run has shown so far. The zero value is ready.
type Numbers struct {
	op, process, faults, bites, grants atomic.Int64

	mu        sync.Mutex       // guards what follows
	holders   map[string]int32 // key → the client that it was granted last
	handovers int              // grants to another client than the last one
	bitten    map[int]bool     // the planned faults that have bitten, by their places
}

// NextOp returns the number of the next op.
func (n *Numbers) NextOp() int64 { return n.nextOps(1) }

// nextOps returns the first of the numbers of the next ops.
func (n *Numbers) nextOps(many int) int64 { return n.op.Add(int64(many)) - int64(many) + 1 }

// nextProcess returns the number of the next incarnation of a client.
func (n *Numbers) nextProcess() int32 { return int32(n.process.Add(1)) }

// NextFault returns the number of the next fault.
func (n *Numbers) NextFault() int { return int(n.faults.Add(1)) }

// Ops returns how many ops there were so far.
func (n *Numbers) Ops() int64 { return n.op.Load() }

// Faults returns how many faults there were so far.
func (n *Numbers) Faults() int64 { return n.faults.Load() }

// Grants returns how many grants there were so far.
func (n *Numbers) Grants() int64 { return n.grants.Load() }

// Bites returns how many faults have bitten so far.
func (n *Numbers) Bites() int64 { return n.bites.Load() }

// Shown returns how many grants went to another client than the one before, and
// how many of the planned faults have bitten.
func (n *Numbers) Shown() (handovers, faults int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.handovers, len(n.bitten)
}

// Granted counts the grants of keys to a client.
func (n *Numbers) Granted(client int32, keys ...string) {
	n.grants.Add(int64(len(keys)))
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.holders == nil {
		n.holders = map[string]int32{}
	}
	for _, key := range keys {
		if last, ok := n.holders[key]; ok && last != client {
			n.handovers++
		}
		n.holders[key] = client
	}
}

// Bit counts a fault that has bitten: the planned one at a place.
func (n *Numbers) Bit(place int) {
	n.bites.Add(1)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.bitten == nil {
		n.bitten = map[int]bool{}
	}
	n.bitten[place] = true
}
