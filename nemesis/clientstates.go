package nemesis

import (
	"math/rand/v2"
	"slices"
)

// ClientStates is what the harness knows of the clients at an instant.
type ClientStates struct {
	// Free are the clients that a fault may strike: alive, and in no other
	// fault's grip. In the order of their numbers.
	Free []int32
	// Holders are the grants that are held, the oldest first; Waiters the
	// acquires that are under way, who has waited longest first.
	Holders []Holding
	Waiters []Waiting
	// Selves are the clients that have taken the places of others, by the numbers of those.
	Selves map[int32]int32
}

// Holding is a grant that a client believes in.
type Holding struct {
	Client int32
	Grant  int64
	Key    string
}

// Waiting is an acquire that was sent and has not been answered.
type Waiting struct {
	Client int32
	Key    string
}

// Victim is a client that a fault strikes, with the grant that it holds; 0: none.
type Victim struct {
	Client int32
	Grant  int64
}

// Clients chooses the clients that the target means at a step, or at any moment
// (Random; then Step.Grant, if it is not 0, is the grant that is meant, while it
// is held). Nobody is meant if the one in question is not free: a fault then waits
// for its time. It is a pure function: the same random numbers choose the same.
func (t Target) Clients(s ClientStates, at Step, rng *rand.Rand) []Victim {
	switch t {
	case Holder:
		return s.holder(at, rng)
	case NextWaiter:
		return s.nextWaiter(at)
	case RandomClient:
		if len(s.Free) > 0 {
			return []Victim{s.victim(s.Free[rng.IntN(len(s.Free))])}
		}
	case AllClients:
		var all []Victim
		for _, c := range s.Free {
			all = append(all, s.victim(c))
		}
		return all
	}
	c := t.Number()
	if self, replaced := s.Selves[c]; replaced {
		c = self
	}
	if s.free(c) {
		return []Victim{s.victim(c)}
	}
	return nil
}

func (s ClientStates) holder(at Step, rng *rand.Rand) []Victim {
	if at.Moment != Random {
		if !s.free(at.Client) {
			return nil
		}
		return []Victim{{at.Client, at.Grant}}
	}
	holders := slices.Clone(s.Holders)
	if i := slices.IndexFunc(holders, func(h Holding) bool { return h.Grant == at.Grant }); i >= 0 {
		holders = holders[i : i+1]
	}
	holders = slices.DeleteFunc(holders, func(h Holding) bool { return !s.free(h.Client) })
	if len(holders) == 0 {
		return nil
	}
	var clients []int32
	for _, h := range holders {
		if !slices.Contains(clients, h.Client) {
			clients = append(clients, h.Client)
		}
	}
	slices.Sort(clients)
	c := clients[rng.IntN(len(clients))]
	i := slices.IndexFunc(holders, func(h Holding) bool { return h.Client == c })
	return []Victim{{c, holders[i].Grant}}
}

// nextWaiter is who has waited longest for the key of the step or, at any
// moment, for a key that another client holds.
func (s ClientStates) nextWaiter(at Step) []Victim {
	for _, w := range s.Waiters {
		awaited := w.Key == at.Key
		if at.Moment == Random {
			awaited = slices.ContainsFunc(s.Holders,
				func(h Holding) bool { return h.Key == w.Key && h.Client != w.Client })
		}
		if !awaited || w.Client == at.Client {
			continue
		}
		if !s.free(w.Client) {
			return nil
		}
		return []Victim{s.victim(w.Client)}
	}
	return nil
}

func (s ClientStates) free(client int32) bool { return slices.Contains(s.Free, client) }

// victim is a client with the oldest grant that it holds.
func (s ClientStates) victim(client int32) Victim {
	v := Victim{Client: client}
	if i := slices.IndexFunc(s.Holders, func(h Holding) bool { return h.Client == client }); i >= 0 {
		v.Grant = s.Holders[i].Grant
	}
	return v
}
