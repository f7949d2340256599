//go:build linux

package harness

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// TestPacketsOfGrants: of a grant whose attempt is not told, the history says when
// the client's packets passed; after one that is told, nobody watches them any more.
func TestPacketsOfGrants(t *testing.T) { decided.Run(t, func() { packetsOfGrants(t) }) }

func packetsOfGrants(t *testing.T) {
	_, hs := hoststest.Network(t, "service", "client-1")
	listener, err := hs[0].Listen(6000)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() { // whatever is asked is answered
		conn, err := listener.Accept()
		for buf := make([]byte, 1); err == nil; {
			if _, err = conn.Read(buf); err == nil {
				_, err = conn.Write(buf)
			}
		}
	}()
	conn, err := hs[1].Dial(t.Context(), "tcp", netip.AddrPortFrom(hs[0].Addr, 6000))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var all taps
	defer func() {
		if err := all.close(); err != nil {
			t.Error(err)
		}
	}()
	service := &backends.Service{Nodes: []*backends.Node{{Name: "service", Host: hs[0]}}}
	if all.on(hs[1], &backends.Service{}) != nil {
		t.Error("a lock without a service has no packets")
	}
	d := drive(t, 0)
	c := d.client(1, nil)
	watch := all.on(hs[1], service)
	if watch == nil || all.on(hs[1], service) != watch {
		t.Fatal("the client's next process goes on with the tap of its host")
	}
	c.Tap = watch
	stamped := int64(0)
	c.Simulated = func(_ context.Context, cmd wire.Command) (wire.Reply, error) {
		r := wire.Reply{ID: cmd.ID, Result: wire.ResultOK, Start: monotime.Now()}
		_, err := conn.Write([]byte{1})
		if err == nil {
			_, err = conn.Read(make([]byte, 1))
		}
		r.End, r.Attempt = monotime.Now(), stamped
		return r, err
	}
	acquire := func() {
		if _, _, err := c.Do(t.Context(), wire.Op{Kind: history.Acquire, Key: "k0", Timeout: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	// The kernel may begin to stamp packets a little later, and a busy machine
	// may not let a stamp be read in time.
	for end := time.Now().Add(decided.Limit); ; {
		watch.Begin()
		r, err := c.Simulated(t.Context(), wire.Command{})
		if err != nil || time.Now().After(end) {
			t.Fatal("no packets are seen", err)
		}
		if sent, _ := watch.End(r.Attempt, r.End); sent != 0 {
			break
		}
	}
	const tries = 20
	for range tries {
		acquire()
	}
	watched := watch.packets
	stamped = monotime.Now()
	acquire()
	if watched == nil || watch.packets != nil {
		t.Error("the packets of a lock that stamps its attempts are still watched, or never were")
	}
	stamped = 0
	acquire()
	seen := 0
	for _, e := range d.finish(t).Events {
		if e.Type != history.OK || e.Sent == 0 && e.Came == 0 {
			continue
		}
		const off = int64(time.Millisecond)
		if seen++; e.Sent < e.Start-off || e.Sent > e.Came || e.Came > e.End+off || e.Op > tries {
			t.Errorf("op %d, from %d to %d: last asked at %d, and answered at %d", e.Op, e.Start, e.End, e.Sent, e.Came)
		}
	}
	if seen == 0 {
		decided.Lacks("a grant whose packets were seen, of %d", tries)
	}
}
