package netfault

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Cut says that no packet goes from one host to another; the way back is
// another cut. Hosts are named.
type Cut struct{ From, To string }

// Shape chooses the cuts of a partition among hosts. A shape is a pure function: the same
// hosts and the same random numbers make the same cuts, sorted and each once. Shapes that
// need more hosts than there are return none. (Jepsen calls the result a grudge.)
type Shape func(hosts []string, rng *rand.Rand) []Cut

// Between cuts every host of one side from every host of the other, in both
// directions. Hosts on both sides see everyone.
func Between(one, other []string) []Cut {
	return normal(append(OneWay(one, other), OneWay(other, one)...))
}

// OneWay cuts the way from every host of one set to every host of another; the way back stays open.
func OneWay(from, to []string) []Cut {
	var cuts []Cut
	for _, a := range from {
		for _, b := range to {
			if !slices.Contains(to, a) && !slices.Contains(from, b) {
				cuts = append(cuts, Cut{a, b})
			}
		}
	}
	return normal(cuts)
}

// Isolate cuts one host from all others.
func Isolate(host string, hosts []string) []Cut {
	return Between([]string{host}, slices.DeleteFunc(slices.Clone(hosts), func(h string) bool { return h == host }))
}

// IsolateOne cuts a random host from all others.
func IsolateOne(hosts []string, rng *rand.Rand) []Cut {
	if len(hosts) < 2 {
		return nil
	}
	return Isolate(hosts[rng.IntN(len(hosts))], hosts)
}

// Halves cuts a random half from the other. Of an odd number, one half has one more.
func Halves(hosts []string, rng *rand.Rand) []Cut { return split(hosts, len(hosts)/2, rng) }

// MajorityMinority cuts a random minority, of a random size, from a majority. It needs three hosts.
func MajorityMinority(hosts []string, rng *rand.Rand) []Cut {
	largest := (len(hosts) - 1) / 2
	if largest < 1 {
		return nil
	}
	return split(hosts, 1+rng.IntN(largest), rng)
}

// split cuts n random hosts from the others.
func split(hosts []string, n int, rng *rand.Rand) []Cut {
	all := shuffled(hosts, rng)
	return Between(all[:n], all[n:])
}

// MajoritiesRing puts the hosts on a random ring, and lets each see only its nearest
// neighbours on both sides, as few as make a majority with itself. All see a majority; of
// four hosts and more, no two see the same one. Of three hosts, two are cut from each other.
func MajoritiesRing(hosts []string, rng *rand.Rand) []Cut {
	n := len(hosts)
	if n < 3 {
		return nil
	}
	all := shuffled(hosts, rng)
	if n == 3 {
		return Between(all[:1], all[1:2])
	}
	majority := n/2 + 1
	reach := majority / 2 // to each side: 2·reach + 1 ≥ majority
	var cuts []Cut
	for i := range all {
		for apart := reach + 1; apart < n-reach; apart++ {
			cuts = append(cuts, Cut{all[i], all[(i+apart)%n]})
		}
	}
	return normal(cuts)
}

// Bridge cuts a random half from the other, but for one host that sees
// everyone, and through which they could still talk. It needs three hosts.
func Bridge(hosts []string, rng *rand.Rand) []Cut {
	if len(hosts) < 3 {
		return nil
	}
	all := shuffled(hosts, rng)[1:]
	return Between(all[:len(all)/2], all[len(all)/2:])
}

// OneWayOne cuts the way from a random host to all others: it hears them, and they don't hear it.
func OneWayOne(hosts []string, rng *rand.Rand) []Cut {
	if len(hosts) < 2 {
		return nil
	}
	mute := hosts[rng.IntN(len(hosts))]
	return OneWay([]string{mute}, slices.DeleteFunc(slices.Clone(hosts), func(h string) bool { return h == mute }))
}

// shuffled does not depend on the order in which the hosts are given.
func shuffled(hosts []string, rng *rand.Rand) []string {
	all := slices.Sorted(slices.Values(hosts))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// normal sorts cuts and keeps each once.
func normal(cuts []Cut) []Cut {
	slices.SortFunc(cuts, func(a, b Cut) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	return slices.Compact(cuts)
}
