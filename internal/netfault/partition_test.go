//go:build linux

package netfault

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// group is hosts with filters, and a mailbox each.
func group(t testing.TB, names ...string) ([]*hosts.Host, map[string]Peer) {
	_, hs := hoststest.Network(t, names...)
	peers := map[string]Peer{}
	for _, h := range hs {
		peers[h.Name] = Peer{h.Addr, open(t, h)}
	}
	return hs, peers
}

// Every shape, on real hosts: exactly the pairs that it cuts are cut, each
// packet is counted at its cut, and after the healing all talk.
func TestPartitionShapes(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	hs, peers := group(t, names...)
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			cuts := shape(names, seeded())
			p := must[*Partition](t)(StartPartition(name, cuts, peers))
			if now := monotime.Now(); p.From == 0 || p.From > now {
				t.Errorf("in place at %d, now it is %d", p.From, now)
			}
			talk(t, hs, cuts)
			s := must[Severed](t)(p.Heal())
			for i, c := range s.Cuts {
				if c.Cut != cuts[i] || c.Packets != 1 {
					t.Errorf("evidence: %+v, want 1 packet at %v", c, cuts[i])
				}
			}
			if int(s.Packets()) != len(cuts) || s.From != p.From || s.To < s.From ||
				!strings.HasPrefix(s.String(), fmt.Sprintf("%d packets dropped: %s → ", len(cuts), cuts[0].From)) {
				t.Errorf("evidence: %v", s)
			}
			talk(t, hs, nil)
			if again := must[Severed](t)(p.Heal()); again.String() != s.String() || again.To != s.To {
				t.Errorf("healed twice: %v, the first time %v", again, s)
			}
		})
	}
}

// talk sends a datagram from each host to each, and sees who gets it.
func talk(t *testing.T, hs []*hosts.Host, cuts []Cut) {
	t.Helper()
	for _, to := range hs {
		box := mailbox(t, to)
		var want []string
		for _, from := range hs {
			if from == to {
				continue
			}
			src := sender(t, from)
			if _, err := src.WriteToUDPAddrPort([]byte(from.Name), netip.AddrPortFrom(to.Addr, udpPort)); err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(cuts, Cut{from.Name, to.Name}) {
				want = append(want, from.Name)
			}
		}
		send(t, sender(t, to), to, "end") // to itself: no cut is there
		var got []string
		for {
			text := receive(t, box)
			if text == "end" {
				break
			}
			got = append(got, text)
		}
		box.Close()
		if !slices.Equal(got, want) {
			t.Errorf("%s hears %v, want %v", to.Name, got, want)
		}
	}
}

// A host without a filter, such as a client that is not ours, is cut on the
// other side; and what fails leaves nothing behind.
func TestPartitionOnTheOtherSide(t *testing.T) {
	hs, peers := group(t, "a", "b")
	peers["a"] = Peer{Addr: peers["a"].Addr}
	p := must[*Partition](t)(StartPartition("cut", Between([]string{"a"}, []string{"b"}), peers))
	// refused: it is cut on its way out
	_, _ = sender(t, hs[1]).WriteToUDPAddrPort([]byte("x"), netip.AddrPortFrom(hs[0].Addr, udpPort))
	if s := must[Severed](t)(p.Heal()); s.Cuts[1] != (CutCount{Cut{"b", "a"}, 1, 29}) {
		t.Errorf("evidence: %v", s)
	}
	for want, cuts := range map[string][]Cut{
		"no cut is asked for":              nil,
		"no address is known":              {{"a", "b"}, {"b", "nobody"}},
		"neither host has a packet filter": {{"a", "b"}, {"a", "c"}},
	} {
		peers["c"] = Peer{Addr: netip.MustParseAddr("10.9.9.9")}
		if _, err := StartPartition("cut", cuts, peers); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if f := peers["b"].Filter; len(f.rules) != 0 {
		t.Errorf("%d rules are left", len(f.rules))
	}
	talk(t, hs, nil)
}
