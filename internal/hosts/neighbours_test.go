//go:build linux

package hosts_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/lockchaos/lockchaos/internal/hosts"
)

// Hosts that were introduced know each other's link address, which they need
// not ask for, and it is the right one: they talk.
func TestIntroduce(t *testing.T) {
	if !inside(t) {
		return
	}
	n, err := hosts.NewNetwork(hosts.DefaultPrefix)
	if err != nil {
		t.Fatal(err)
	}
	var made []*hosts.Host
	for _, name := range []string{"server", "a", "b"} {
		h, err := n.AddHost(name)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, h)
	}
	if err := n.Await(within(t), made...); err != nil {
		t.Fatal(err)
	}
	server, clients := made[0], made[1:]
	if err := hosts.Introduce(clients, made[:1]); err != nil {
		t.Fatal(err)
	}
	for _, c := range clients {
		if !told(t, c, server.Addr) || !told(t, server, c.Addr) {
			t.Errorf("%s and the server do not know each other", c.Name)
		}
		talk(t, c, server)
	}
	if told(t, clients[0], clients[1].Addr) {
		t.Error("clients were introduced to each other")
	}
	talk(t, clients[0], clients[1]) // they ask, as ever
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if err := hosts.Introduce(clients, made[:1]); err == nil {
		t.Error("hosts that are gone can't be introduced")
	}
}

// told reports whether the host was told the neighbour's link address.
func told(t *testing.T, h *hosts.Host, neighbour netip.Addr) (found bool) {
	t.Helper()
	err := h.Do(func() error {
		list, err := netlink.NeighList(0, netlink.FAMILY_V4)
		for _, n := range list {
			if ip, ok := netip.AddrFromSlice(n.IP.To4()); ok && ip == neighbour {
				found = found || n.State == netlink.NUD_PERMANENT
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A network may be made anew as soon as the one before is closed, though the
// kernel takes a while to remove that one's links.
func TestNetworksFollowEachOther(t *testing.T) {
	if !inside(t) {
		return
	}
	for range 20 {
		n, err := hosts.NewNetwork(hosts.DefaultPrefix)
		if err != nil {
			t.Fatal(err)
		}
		a, err := n.AddHost("a")
		if err == nil {
			_, err = n.AddHost("b")
		}
		if err == nil {
			err = n.Await(within(t), a)
		}
		if err := errors.Join(err, n.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
