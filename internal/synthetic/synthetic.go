// Package synthetic writes histories of any length for a lock that does not exist: clients take
// turns at its keys, read and write under it, and a ledger follows. Everything is as a correct
// lock would have it, but for a number of violations at places that a seed draws. So a judge can
// be held to what it must find, exactly, and its speed measured on as many events as one likes.
//
// The lock is exclusive, fair, gives fencing tokens, and promises a lease from
// the invocation; its renewals confirm the hold. The store has no fence.
package synthetic

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/lockchaos/lockchaos/history"
)

// Config says what to write.
type Config struct {
	// Events is the least number of events; the history ends soon after.
	Events  int64
	Clients int
	Keys    int // 0: one for each ten clients; never more than clients
	// Bad is how many violations are planted.
	Bad int
	// Unknown is how many acquires end info, and take no effect.
	Unknown int
	Seed    uint64
}

// Defect is a kind of violation that can be planted. Each violates one property, once.
type Defect uint8

const (
	// DoubleGrant: the key is granted to the next client inside the holder's promise.
	DoubleGrant Defect = iota
	// SmallToken: a grant is given a smaller fencing token than the one before it.
	SmallToken
	// LateWrite: a write that was sent under the lock is accepted after one of the next holder.
	LateWrite
	defects
)

var defectNames = [defects]string{"double grant", "small token", "late write"}

// String names the defect.
func (d Defect) String() string { return defectNames[d] }

// Planted is one violation in a history.
type Planted struct {
	Defect Defect
	// Grant is the grant that is at fault: the one made too early, the one with
	// the small token, the one of the late write.
	Grant int64
	Key   history.KeyID
}

const (
	ttl = 500_000_000
	// the least time between two events (ns); the stamps inside an op are less than that apart
	step = 1000
)

// check fills in what was left out, and refuses what can't be written.
func (c *Config) check() error {
	if c.Keys == 0 {
		c.Keys = max(1, c.Clients/10)
	}
	switch {
	case c.Events < 1 || c.Clients < 1 || c.Keys < 1 || c.Bad < 0 || c.Unknown < 0:
		return fmt.Errorf("a history of %d events, %d clients, %d keys, %d violations: no number may be below 1, or below 0 for violations", c.Events, c.Clients, c.Keys, c.Bad)
	case c.Keys > c.Clients:
		return fmt.Errorf("%d keys for %d clients: each client keeps to one key, so some would have none", c.Keys,
			c.Clients)
	case c.Bad > 0 && c.Clients < 2*c.Keys:
		return fmt.Errorf("%d clients at %d keys: it takes two at a key to violate anything", c.Clients, c.Keys)
	case c.Unknown > 0 && c.Clients < 3*c.Keys:
		return fmt.Errorf("%d clients at %d keys: acquires of unknown fate take three at a key", c.Clients, c.Keys)
	case c.Bad > 0 && c.Events < 100*int64(c.Bad):
		return fmt.Errorf("%d violations need at least %d events, so that each has a place of its own", c.Bad,
			100*c.Bad)
	}
	return nil
}

// Header returns the header of the history that Generate writes, and the names of its keys.
func Header(c Config) (history.Header, []string, error) {
	if err := c.check(); err != nil {
		return history.Header{}, nil, err
	}
	keys := make([]string, c.Keys)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%d", i)
	}
	return history.Header{Format: history.FormatVersion, Scenario: fmt.Sprintf("synthetic/%d-violations", c.Bad),
		Seed: c.Seed, Lock: "synthetic", Service: "none",
		Workload: "counter", Guard: "none", Fault: "none", Clients: c.Clients, TTL: ttl, Stall: ttl / 10,
		Claims: history.Claims{Validity: "from_invocation", Token: "fencing", Confirms: []string{"renew"}, Fair: true,
			Permits: 1},
		Store:    history.Store{Engine: "none"},
		StandIns: []string{"This history was generated: no lock was run."}}, keys, nil
}

// Generate writes a history: it calls emit for each event, in order, and ends
// with emit's first error. The event is good until emit returns. It returns
// what it planted, in the order of the history.
func Generate(c Config, emit func(*history.Event) error) ([]Planted, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	g := &generator{config: c, emit: emit, rng: rand.New(rand.NewPCG(c.Seed, 0)), now: step, keys: make([]key, c.Keys),
		clients: make([]client, c.Clients+1)}
	for i := range c.Clients {
		k := &g.keys[i%c.Keys]
		k.id, k.idle = history.KeyID(i%c.Keys), append(k.idle, int32(i+1))
		g.clients[i+1].process = int32(i + 1)
	}
	g.lastProcess = int32(2 * c.Clients) // those of the probes' clients come before
	g.badAt, g.unknownAt = g.places(c.Bad), g.places(c.Unknown)
	g.mark(history.PhaseRun)
	for g.err == nil && (g.events < c.Events || len(g.planted) < c.Bad || len(g.unknownAt) > 0) {
		g.turn(&g.keys[g.rng.IntN(len(g.keys))])
	}
	g.windDown()
	if g.err != nil {
		return nil, g.err
	}
	return g.planted, nil
}

// places draws n places, as numbers of events, away from either end.
func (g *generator) places(n int) []int64 {
	at := make([]int64, n)
	for i := range at {
		at[i] = g.config.Events/20 + g.rng.Int64N(g.config.Events*9/10+1)
	}
	slices.Sort(at)
	return at
}

// due takes the next place, if the history has come to it.
func (g *generator) due(at *[]int64) bool {
	if len(*at) == 0 || g.events < (*at)[0] {
		return false
	}
	*at = (*at)[1:]
	return true
}

// WriteFile writes a history to a file, compressed if its name ends in .zst, or to stdout, which is
// called "-".
func WriteFile(out string, stdout io.Writer, c Config) (planted []Planted, err error) {
	to := stdout
	if out != "-" {
		f, failed := os.Create(out)
		if failed != nil {
			return nil, fmt.Errorf("write a history: %w", failed)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		to = f
	}
	header, keys, err := Header(c)
	if err != nil {
		return nil, err
	}
	w, err := history.NewWriter(to, out)
	if err != nil {
		return nil, err
	}
	enc, err := history.NewEncoder(w, header, keys)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", out, err)
	}
	planted, err = Generate(c, enc.Encode)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("write %s: %w", out, err)
	}
	return planted, nil
}
